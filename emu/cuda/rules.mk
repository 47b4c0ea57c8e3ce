# SPDX-License-Identifier: MIT
# libcuda.so.1: the emulated CUDA driver API on /dev/emugpu.
LIBCUDA_SRC := $(wildcard emu/cuda/*/*.c)
LIBCUDA_OBJ := $(LIBCUDA_SRC:emu/cuda/%.c=$(B)/obj/libcuda/%.o) $(B)/obj/libcuda/version.o
# nodelete: a fork handler and thread-local contexts must outlive dlclose(). Bsymbolic:
# a program that interposes one function must not change calls inside the library.
LIBCUDA_LDFLAGS := -Wl,-soname,libcuda.so.1 -Wl,-z,defs -Wl,-z,nodelete -Wl,-Bsymbolic \
	-Wl,--version-script=emu/cuda/libcuda.map -Wl,--no-undefined-version

# Programs that intercept calls patch the first five bytes of a function, and know only
# few instructions there. So each function begins with a frame, and no two are merged.
LIBCUDA_ENTRIES := -fno-omit-frame-pointer -fstack-protector-all -fno-schedule-insns2 -fno-shrink-wrap \
	-fno-ipa-icf

USER_TARGETS += $(B)/emu/libcuda.so.1 $(B)/emu/libcuda.so

$(B)/obj/libcuda/%.o: emu/cuda/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -Iemu/include -fPIC -fvisibility=hidden $(LIBCUDA_ENTRIES) -MMD -MP -c -o $@ $<

$(B)/obj/libcuda/version.o: emu/version/version.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -Iemu/include -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<

$(B)/emu/libcuda.so.1: $(LIBCUDA_OBJ) emu/cuda/libcuda.map | $(B)/emu
	$(CC) $(CFLAGS) $(LDFLAGS) -shared $(LIBCUDA_LDFLAGS) -o $@ $(LIBCUDA_OBJ) -lpthread

$(B)/emu/libcuda.so: $(B)/emu/libcuda.so.1
	ln -sf libcuda.so.1 $@

# For the unit tests. Not named libcuda.a: with -L$(B)/lib the linker would use it for -lcuda.
$(B)/lib/libemucuda.a: $(LIBCUDA_OBJ)

$(B)/emu:
	mkdir -p $@

-include $(LIBCUDA_OBJ:.o=.d)
