# SPDX-License-Identifier: MIT
vm_init := $(addprefix $(B)/vm/,init.o command.o config.o finder.o gcov.o leak.o log.o modinfo.o module.o root.o stream.o)
vm_wire := $(addprefix $(B)/vm/,wire.o bridge.o port.o)

USER_TARGETS += $(B)/vm/init $(B)/vm/watch $(B)/vm/wire

# Static: the initramfs of the VM has no libraries.
$(B)/vm/init: $(vm_init)
	$(CC) $(CFLAGS) $(LDFLAGS) -static -o $@ $^

$(B)/vm/watch: $(B)/vm/watch.o
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^

$(B)/vm/wire: $(vm_wire)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^

$(B)/vm/%.o: emu/vm/wire/%.c | $(B)/vm
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/vm/%.o: emu/vm/init/%.c | $(B)/vm
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/vm:
	mkdir -p $@

# Programs of the arm64 VM: $(B)/arm64/X is $(B)/X compiled for arm64.
ARM64 := B=$(B)/arm64 CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar
ARM64_TARGETS := vm/init emu/libnvidia-ml.so.1 bin/demo bin/examples/tegra bin/vm/t_gdrapi_copies \
	$(patsubst test/vm/tegra/%.c,bin/vm/%,$(wildcard test/vm/tegra/t_*.c))

arm64:
	+@$(MAKE) --no-print-directory $(ARM64) $(addprefix $(B)/arm64/,$(ARM64_TARGETS))

$(B)/arm64/%: arm64-look
	+@$(MAKE) --no-print-directory $(ARM64) $@

arm64-look:

.PHONY: arm64 arm64-look

-include $(wildcard $(B)/vm/*.d)
