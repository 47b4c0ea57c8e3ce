# SPDX-License-Identifier: MIT
LIB_SRC := $(wildcard $(patsubst %,lib/%/*.c,cache cuda region sys transfer))
LIB_PIC := $(LIB_SRC:lib/%.c=$(B)/obj/lib/%.pic.o)
LIB_OBJ := $(LIB_SRC:lib/%.c=$(B)/obj/lib/%.o)
LIB_CFLAGS := -Ilib/include -DPP_IMPLEMENTATION -fvisibility=hidden

USER_TARGETS += $(B)/lib/libpeerpin.so.1 $(B)/lib/libpeerpin.so $(B)/lib/libpeerpin.a

$(B)/obj/lib/%.pic.o: lib/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(LIB_CFLAGS) -fPIC -MMD -MP -c -o $@ $<

$(B)/obj/lib/%.o: lib/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(LIB_CFLAGS) -MMD -MP -c -o $@ $<

# nodelete: a thread that has used a cache calls the library's destructor when the thread ends
$(B)/lib/libpeerpin.so.1: $(LIB_PIC) lib/libpeerpin.map | $(B)/lib
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,libpeerpin.so.1 -Wl,-z,defs \
		-Wl,-z,nodelete -Wl,--version-script=lib/libpeerpin.map -o $@ $(LIB_PIC) -ldl -lpthread

$(B)/lib/libpeerpin.so: $(B)/lib/libpeerpin.so.1
	ln -sf libpeerpin.so.1 $@

$(B)/lib/libpeerpin.a: $(LIB_OBJ)

# The rule for all static archives; the rules.mk of each directory names the objects. `make install` installs only
# libpeerpin.a. "ar q", not "ar r": objects of two directories may have the same name.
$(B)/lib/%.a: | $(B)/lib
	rm -f $@
	$(AR) qcs $@ $^

$(B)/lib:
	mkdir -p $@

-include $(LIB_PIC:.o=.d) $(LIB_OBJ:.o=.d)
