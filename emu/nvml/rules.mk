# SPDX-License-Identifier: MIT
# libnvidia-ml.so.1: the emulated NVML on /dev/emugpu.
LIBNVML_SRC := $(wildcard emu/nvml/*.c)
LIBNVML_OBJ := $(LIBNVML_SRC:emu/nvml/%.c=$(B)/obj/libnvml/%.o) $(B)/obj/libcuda/version.o
LIBNVML_LDFLAGS := -Wl,-soname,libnvidia-ml.so.1 -Wl,-z,defs -Wl,-Bsymbolic \
	-Wl,--version-script=emu/nvml/libnvml.map -Wl,--no-undefined-version

USER_TARGETS += $(B)/emu/libnvidia-ml.so.1

$(B)/obj/libnvml/%.o: emu/nvml/%.c | $(B)/obj/libnvml
	$(CC) $(CPPFLAGS) $(CFLAGS) -Iemu/include -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<

# $(B)/emu is made by the rules of libcuda
$(B)/emu/libnvidia-ml.so.1: $(LIBNVML_OBJ) emu/nvml/libnvml.map | $(B)/emu
	$(CC) $(CFLAGS) $(LDFLAGS) -shared $(LIBNVML_LDFLAGS) -o $@ $(LIBNVML_OBJ) -lpthread

$(B)/obj/libnvml:
	mkdir -p $@

-include $(LIBNVML_OBJ:.o=.d)

# the tests that are linked with libnvidia-ml
$(B)/bin/vm/t_nvml $(B)/bin/vm/t_gpu_numbers: $(B)/emu/libnvidia-ml.so.1
$(B)/bin/vm/t_nvml $(B)/bin/vm/t_gpu_numbers: private override LDFLAGS += $(B)/emu/libnvidia-ml.so.1
