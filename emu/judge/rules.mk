# SPDX-License-Identifier: MIT
# The judge's part in the virtual machine, and what it preloads into the test.
JUDGE_OBJ := $(patsubst emu/judge/%.c,$(B)/obj/judge/%.o,$(wildcard emu/judge/*.c))
SHIM_OBJ := $(patsubst emu/judge/shim/%.c,$(B)/obj/judge/shim/%.o,$(wildcard emu/judge/shim/*.c))

USER_TARGETS += $(B)/judge/guest $(B)/judge/shim.so

$(SHIM_OBJ): override CFLAGS += -fPIC -fvisibility=hidden

$(B)/obj/judge/%.o: emu/judge/%.c | $(B)/obj/judge/shim
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# all but main(), for peerpin and the unit tests too
$(B)/lib/libjudge.a: $(filter-out %/guest.o,$(JUDGE_OBJ)) $(B)/vm/modinfo.o

$(B)/judge/guest: $(B)/obj/judge/guest.o $(B)/lib/libjudge.a | $(B)/judge
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^

$(B)/judge/shim.so: $(SHIM_OBJ) | $(B)/judge
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-z,defs -o $@ $^ -ldl -lpthread

$(B)/judge $(B)/obj/judge/shim:
	mkdir -p $@

-include $(JUDGE_OBJ:.o=.d) $(SHIM_OBJ:.o=.d)
