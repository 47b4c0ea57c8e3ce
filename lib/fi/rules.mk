# SPDX-License-Identifier: MIT
# libpeerpin-fi.so has the headers of libfabric, but does not link it: a preloaded library loads nothing for
# programs that do not use libfabric.
FI_SRC := $(wildcard lib/fi/*.c)
FI_OBJ := $(FI_SRC:lib/fi/%.c=$(B)/obj/fi/%.o)
FI_LIB_OBJ := $(addprefix $(B)/obj/lib/,sys/debug.pic.o sys/sys.pic.o cuda/process.pic.o)

USER_TARGETS += $(B)/lib/libpeerpin-fi.so.1 $(B)/lib/libpeerpin-fi.so

$(B)/obj/fi/%.o: lib/fi/%.c | $(B)/obj/fi
	$(CC) $(CPPFLAGS) $(CFLAGS) -Ilib/include -Ikmod/uapi -DPP_IMPLEMENTATION -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<

# nodelete: libfabric keeps pointers to the monitor
$(B)/lib/libpeerpin-fi.so.1: $(FI_OBJ) $(FI_LIB_OBJ) lib/fi/libpeerpin-fi.map $(B)/lib/libpeerpin.so | $(B)/lib
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,libpeerpin-fi.so.1 -Wl,-z,defs -Wl,-z,nodelete \
		-Wl,--version-script=lib/fi/libpeerpin-fi.map -o $@ $(filter %.o,$^) -L$(B)/lib -lpeerpin -lpthread -ldl

$(B)/lib/libpeerpin-fi.so: $(B)/lib/libpeerpin-fi.so.1
	ln -sf libpeerpin-fi.so.1 $@

# for the unit tests
$(B)/lib/libfi.a: $(FI_OBJ)

$(B)/obj/fi:
	mkdir -p $@

-include $(FI_OBJ:.o=.d)
