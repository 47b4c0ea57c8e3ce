# SPDX-License-Identifier: MIT
# Many processes at once, for long, on devices that come and go: build/bin/soak runs in the machine (scripts/soak).
#	make soak
SOAK_SECONDS ?= 1800
SOAK_PROCESSES ?= 64
SOAK_OBJ := $(patsubst test/soak/%.c,$(B)/obj/soak/%.o,$(wildcard test/soak/*.c)) $(B)/obj/fuzz/calls/leftover.o
USER_TARGETS += $(B)/bin/soak

$(B)/obj/soak/%.o: test/soak/%.c | $(B)/obj/soak
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/bin/soak: $(SOAK_OBJ)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lpthread

soak: deps
	+@$(MAKE) --no-print-directory all
	@SEED=$(SEED) scripts/soak $(SOAK_SECONDS) $(SOAK_PROCESSES)

$(B)/obj/soak:
	mkdir -p $@

-include $(wildcard $(B)/obj/soak/*.d)

.PHONY: soak
