# SPDX-License-Identifier: MIT
# libcudart.so.N: the emulated CUDA runtime API on the emulated libcuda. A program is linked with the
# library of one major version of CUDA, whose symbols have the version libcudart.so.N.
LIBCUDART_SRC := $(wildcard emu/cudart/*.c)
LIBCUDART_OBJ := $(LIBCUDART_SRC:emu/cudart/%.c=$(B)/obj/libcudart/%.o)
LIBCUDART := $(patsubst %,$(B)/emu/libcudart.so.%,11.0 12 13)

USER_TARGETS += $(LIBCUDART) $(B)/emu/libcudart.so

$(B)/obj/libcudart/%.o: emu/cudart/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -Iemu/include -fPIC -fvisibility=hidden $(LIBCUDA_ENTRIES) -MMD -MP -c -o $@ $<

$(LIBCUDART): $(LIBCUDART_OBJ) $(B)/emu/libcuda.so
	echo '$(@F) { global: cuda*; local: *; };' >$(B)/obj/libcudart/$(@F).map
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,-z,defs -Wl,-Bsymbolic \
		-Wl,--version-script=$(B)/obj/libcudart/$(@F).map -o $@ $(LIBCUDART_OBJ) -L$(B)/emu -lcuda

# What dlopen("libcudart.so") opens, as libfabric does
$(B)/emu/libcudart.so: $(B)/emu/libcudart.so.13
	ln -sf $(<F) $@

-include $(LIBCUDART_OBJ:.o=.d)
