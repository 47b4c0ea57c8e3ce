# SPDX-License-Identifier: MIT
# The soak test: many processes run at once, for long, while devices are hot-plugged. scripts/soak runs it in VMs.
SOAK_OBJ := $(patsubst test/soak/%.c,$(B)/obj/soak/%.o,$(wildcard test/soak/*.c)) $(B)/obj/fuzz/calls/leftover.o
USER_TARGETS += $(B)/bin/soak

$(B)/obj/soak/%.o: test/soak/%.c | $(B)/obj/soak
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/bin/soak: $(SOAK_OBJ)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lpthread

$(B)/obj/soak:
	mkdir -p $@

-include $(wildcard $(B)/obj/soak/*.d)
