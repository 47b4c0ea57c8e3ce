# SPDX-License-Identifier: MIT
# Fuzz targets for hostile input: captured machines and their archives, command lines, the output of verify's guest,
# lists and files. scripts/fuzz searches for inputs and keeps the useful inputs in test/fuzz/corpus/, one archive for
# each target. test/host/fuzz runs the kept inputs again, with targets built by gcc.
FUZZ_TARGETS := archive args report text
# another engine than libFuzzer may be a library of C++: test/fuzz/build.sh
FUZZ_ENGINE ?= -fsanitize=fuzzer
FUZZ_LINK ?= $(CC) $(CFLAGS)
FUZZ_BIN := $(patsubst %,$(B)/bin/fuzz/%,disk memory $(FUZZ_TARGETS))
FUZZ_REPLAY := $(patsubst %,$(B)/bin/fuzz/%,replay replay_memory $(FUZZ_TARGETS:%=replay_%))
FUZZ_ARCHIVES := $(patsubst %,$(B)/lib/lib%.a,verify tool judge peerpin)
# tool/perf names the copies of libgdrapi
FUZZ_STREAM := $(B)/obj/gdrapi/stream.o

$(B)/obj/fuzz/%.o: test/fuzz/%.c | $(B)/obj/fuzz
	$(CC) $(CPPFLAGS) $(CFLAGS) -Ilib/include -MMD -MP -c -o $@ $<

# not under test, so without sanitizers
$(B)/obj/fuzz/memory.o: override CFLAGS += -fno-sanitize=all

# peerpin's objects, with main() renamed; place.o replaces the calls of verify that make and read directories
$(B)/obj/fuzz/peerpin.o: $(B)/obj/tool/main.o | $(B)/obj/fuzz
	objcopy --redefine-sym main=peerpin_main $< $@

$(B)/obj/fuzz/place.o: $(B)/obj/judge/run/place.o | $(B)/obj/fuzz
	objcopy $(patsubst %,--redefine-sym %,access=fuzz_access mkdtemp=fuzz_mkdtemp nftw=fuzz_nftw) $< $@

# On the command line, objects are before the archives. So the linker takes memory.o instead
# of tree.o in libtool.a, and this place.o instead of place.o in libverify.a.
$(FUZZ_BIN) $(FUZZ_REPLAY): $(B)/obj/fuzz/output.o $(B)/obj/fuzz/valid.o $(FUZZ_STREAM) $(FUZZ_ARCHIVES) | $(B)/bin/fuzz
	$(FUZZ_LINK) $(LDFLAGS) $(FUZZ_WRAP:%=-Wl,--wrap=%) -o $@ $(filter %.o,$^) $(FUZZ_ARCHIVES) \
		-larchive -ljson-c -lpci -lz -lncursesw -ltinfo -ldl -lm -lpthread

$(FUZZ_BIN): private override LDFLAGS += $(FUZZ_ENGINE)
$(FUZZ_REPLAY): $(B)/obj/fuzz/replay.o

fuzz_both = $(B)/bin/fuzz/$1 $(B)/bin/fuzz/replay_$1
fuzz_obj = $(1:%=$(B)/obj/fuzz/%.o)
$(call fuzz_both,memory) $(B)/bin/fuzz/disk $(B)/bin/fuzz/replay: $(call fuzz_obj,machines mutation tree)
$(call fuzz_both,memory): $(call fuzz_obj,memory)
$(B)/bin/fuzz/disk $(B)/bin/fuzz/replay: $(call fuzz_obj,disk)
$(call fuzz_both,archive): $(call fuzz_obj,archive)
$(call fuzz_both,args): $(call fuzz_obj,args peerpin place)
$(call fuzz_both,args): private FUZZ_WRAP := pp_open pp_bar1 root_open parse_copy_args file_copy top_lines top_screen_works \
	top_end run_all parse_perf_args parse_metrics_args
$(call fuzz_both,report): $(call fuzz_obj,report)
$(call fuzz_both,text): $(call fuzz_obj,text)
$(call fuzz_both,text): private FUZZ_WRAP := pp_bar1 owners_find

# the program that makes random calls on all device nodes; scripts/fuzz-calls runs it in VMs
CALLS_OBJ := $(patsubst test/fuzz/calls/%.c,$(B)/obj/fuzz/calls/%.o,$(wildcard test/fuzz/calls/*.c))
USER_TARGETS += $(B)/bin/fuzz/calls

$(B)/obj/fuzz/calls/%.o: test/fuzz/calls/%.c | $(B)/obj/fuzz/calls
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/bin/fuzz/calls: $(CALLS_OBJ) | $(B)/bin/fuzz
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lpthread

$(B)/obj/fuzz $(B)/obj/fuzz/calls $(B)/bin/fuzz:
	mkdir -p $@

-include $(wildcard $(B)/obj/fuzz/*.d) $(CALLS_OBJ:.o=.d)
