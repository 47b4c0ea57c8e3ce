# SPDX-License-Identifier: MIT
# doctor and topo on machines that somebody made up: what the fuzzer keeps is in test/fuzz/corpus, and test/host/fuzz
# runs it again, with gcc. To look for more (FUZZ_SECONDS, 600):
#	make fuzz
FUZZ_SECONDS ?= 600
FUZZ_OBJ := $(patsubst %,$(B)/obj/fuzz/%.o,machines mutation tree)
FUZZ_TOOL := $(filter-out $(B)/obj/tool/main.o $(B)/obj/tool/tree.o,$(TOOL_SRC:tool/%.c=$(B)/obj/tool/%.o)) \
	$(B)/obj/judge/splat.o
FUZZ_DISK := $(B)/obj/fuzz/disk.o $(B)/obj/tool/tree.o
FUZZ_LIBS := -larchive -ljson-c -lpci -lz -lncursesw -ltinfo -ldl -lpthread

$(B)/obj/fuzz/%.o: test/fuzz/%.c | $(B)/obj/fuzz
	$(CC) $(CPPFLAGS) $(CFLAGS) -Ikmod/uapi -Ilib/include -Itool -MMD -MP -c -o $@ $<

# nothing is looked for in it
$(B)/obj/fuzz/memory.o: override CFLAGS += -fno-sanitize=all

$(B)/bin/fuzz/replay: $(B)/obj/fuzz/replay.o $(FUZZ_DISK)
$(B)/bin/fuzz/disk: $(FUZZ_DISK)
$(B)/bin/fuzz/memory: $(B)/obj/fuzz/memory.o
$(B)/bin/fuzz/disk $(B)/bin/fuzz/memory: override LDFLAGS += -fsanitize=fuzzer

$(B)/bin/fuzz/replay $(B)/bin/fuzz/disk $(B)/bin/fuzz/memory: $(FUZZ_OBJ) $(FUZZ_TOOL) $(B)/lib/libpeerpin.a | $(B)/bin/fuzz
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(FUZZ_LIBS)

fuzz:
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

.PHONY: fuzz fuzz-calls
