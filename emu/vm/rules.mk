# SPDX-License-Identifier: MIT
vm_init := $(addprefix $(B)/vm/,init.o command.o config.o module.o root.o stream.o)

USER_TARGETS += $(B)/vm/init $(B)/vm/watch

# Pid 1 of the virtual machine has no libraries around it.
$(B)/vm/init: $(vm_init)
	$(CC) $(CFLAGS) -static -o $@ $^

$(B)/vm/watch: $(B)/vm/watch.o
	$(CC) $(CFLAGS) -o $@ $^

$(B)/vm/%.o: emu/vm/%.c | $(B)/vm
	$(CC) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/vm:
	mkdir -p $@

-include $(wildcard $(B)/vm/*.d)
