# SPDX-License-Identifier: MIT
# What others have made up is read here, and what it is asked for is looked at: of doctor and topo, machines, and the
# archives they come in; command lines; what a guest says to verify; lists and files. What the fuzzer keeps is in
# test/fuzz/corpus, and test/host/fuzz runs it again, with gcc. To look for more, in each for its part of FUZZ_SECONDS (600):
#	make fuzz-tool
FUZZ_SECONDS ?= 600
FUZZ_OBJ := $(patsubst %,$(B)/obj/fuzz/%.o,machines mutation output tree valid)
FUZZ_COMMANDS := $(filter-out $(B)/obj/tool/main.o,$(TOOL_SRC:tool/%.c=$(B)/obj/tool/%.o)) $(B)/obj/judge/splat.o
FUZZ_TOOL := $(filter-out $(B)/obj/tool/tree.o,$(FUZZ_COMMANDS))
FUZZ_DISK := $(B)/obj/fuzz/disk.o $(B)/obj/tool/tree.o
FUZZ_LIBS := -larchive -ljson-c -lpci -lz -lncursesw -ltinfo -ldl -lpthread

$(B)/obj/fuzz/%.o: test/fuzz/%.c | $(B)/obj/fuzz
	$(CC) $(CPPFLAGS) $(CFLAGS) -Ikmod/uapi -Ilib/include -Itool -MMD -MP -c -o $@ $<

# nothing is looked for in it
$(B)/obj/fuzz/memory.o: override CFLAGS += -fno-sanitize=all

$(B)/bin/fuzz/replay: $(B)/obj/fuzz/replay.o $(FUZZ_DISK)
$(B)/bin/fuzz/disk: $(FUZZ_DISK)
$(B)/bin/fuzz/replay_memory: $(B)/obj/fuzz/replay.o $(B)/obj/fuzz/memory.o
$(B)/bin/fuzz/memory: $(B)/obj/fuzz/memory.o

FUZZ_MACHINES := $(patsubst %,$(B)/bin/fuzz/%,replay disk replay_memory memory)
$(FUZZ_MACHINES): $(FUZZ_OBJ) $(FUZZ_TOOL) $(B)/lib/libpeerpin.a | $(B)/bin/fuzz
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(FUZZ_LIBS)

# ---- archive, args, report, text: each of that name, and replay_ of it -----------------------

# peerpin with another name for main(), and without what verify does to directories
$(B)/obj/fuzz/peerpin.o: $(B)/obj/tool/main.o | $(B)/obj/fuzz
	objcopy --redefine-sym main=peerpin_main $< $@

$(B)/obj/fuzz/place.o: $(B)/obj/tool/verify_place.o | $(B)/obj/fuzz
	objcopy $(patsubst %,--redefine-sym %,access=fuzz_access mkdtemp=fuzz_mkdtemp nftw=fuzz_nftw) $< $@

FUZZ_WRAP_args := pp_open pp_bar1 root_open parse_copy_args file_copy top_lines top_screen_works top_end run_all
FUZZ_WRAP_report :=
FUZZ_WRAP_archive :=
FUZZ_WRAP_text := pp_bar1 owners_find
FUZZ_OBJ_args := $(B)/obj/fuzz/peerpin.o $(B)/obj/fuzz/place.o \
	$(filter-out $(B)/obj/tool/verify_place.o,$(FUZZ_COMMANDS))
FUZZ_OBJ_report := $(FUZZ_COMMANDS)
FUZZ_OBJ_archive := $(FUZZ_COMMANDS)
FUZZ_OBJ_text := $(FUZZ_COMMANDS) $(B)/obj/judge/plan.o $(B)/obj/judge/violations.o

define FUZZ_RULE
$(B)/bin/fuzz/replay_$(1): $(B)/obj/fuzz/replay.o
$(B)/bin/fuzz/$(1) $(B)/bin/fuzz/replay_$(1): $(patsubst %,$(B)/obj/fuzz/%.o,$(1) output valid) $(FUZZ_OBJ_$(1)) \
		$(B)/lib/libpeerpin.a | $(B)/bin/fuzz
	$$(CC) $$(CFLAGS) $$(LDFLAGS) $(patsubst %,-Wl$(comma)--wrap=%,$(FUZZ_WRAP_$(1))) -o $$@ $$^ $$(FUZZ_LIBS)
endef
comma := ,
FUZZ_TARGETS := archive args report text
$(foreach t,$(FUZZ_TARGETS),$(eval $(call FUZZ_RULE,$(t))))

$(patsubst %,$(B)/bin/fuzz/%,disk memory $(FUZZ_TARGETS)): override LDFLAGS += -fsanitize=fuzzer

fuzz:
	+@for target in fuzz-tool fuzz-calls; do $(MAKE) --no-print-directory $$target || exit; done

fuzz-tool: deps
	@scripts/fuzz $(FUZZ_SECONDS)

# calls of all nodes, which runs in the machine
CALLS_OBJ := $(patsubst test/fuzz/calls/%.c,$(B)/obj/fuzz/calls/%.o,$(wildcard test/fuzz/calls/*.c))
USER_TARGETS += $(B)/bin/fuzz/calls

$(B)/obj/fuzz/calls/%.o: test/fuzz/calls/%.c | $(B)/obj/fuzz/calls
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/bin/fuzz/calls: $(CALLS_OBJ) | $(B)/bin/fuzz
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lpthread

fuzz-calls: deps
	+@$(MAKE) --no-print-directory all
	@scripts/fuzz-calls $(CALLS)

$(B)/obj/fuzz $(B)/obj/fuzz/calls $(B)/bin/fuzz:
	mkdir -p $@

-include $(wildcard $(B)/obj/fuzz/*.d) $(CALLS_OBJ:.o=.d)

.PHONY: fuzz fuzz-tool fuzz-calls
