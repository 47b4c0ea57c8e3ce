# SPDX-License-Identifier: MIT
# The judge: guest/ runs in the virtual machine, shim/ is preloaded into the test, and log/ reads the kernel log
# in the VM and on the host. kmod/ is judge.ko. The rest is the command `peerpin verify`.
JUDGE_OBJ := $(patsubst emu/judge/%.c,$(B)/obj/judge/%.o,$(wildcard emu/judge/guest/*.c emu/judge/log/*.c))
VERIFY_OBJ := $(patsubst emu/judge/%.c,$(B)/obj/judge/%.o,$(wildcard emu/judge/*.c $(patsubst %,emu/judge/%/*.c,result run report)))
SHIM_OBJ := $(patsubst emu/judge/shim/%.c,$(B)/obj/judge/shim/%.o,$(wildcard emu/judge/shim/*.c))

USER_TARGETS += $(B)/judge/guest $(B)/judge/shim.so

$(SHIM_OBJ): override CFLAGS += -fPIC -fvisibility=hidden

$(B)/obj/judge/%.o: emu/judge/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -Ilib/include -MMD -MP -c -o $@ $<

# linked into peerpin and into the unit tests
$(B)/lib/libverify.a: $(VERIFY_OBJ)

$(B)/lib/libjudge.a: $(filter-out %/guest.o,$(JUDGE_OBJ)) $(B)/vm/modinfo.o

$(B)/judge/guest: $(B)/obj/judge/guest/guest.o $(B)/lib/libjudge.a | $(B)/judge
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^

$(B)/judge/shim.so: $(SHIM_OBJ) | $(B)/judge
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-z,defs -o $@ $^ -ldl -lpthread

$(B)/judge:
	mkdir -p $@

-include $(JUDGE_OBJ:.o=.d) $(VERIFY_OBJ:.o=.d) $(SHIM_OBJ:.o=.d)
