# SPDX-License-Identifier: MIT
# libpeerpin-ucm.so is only preloaded. It links neither UCX nor libibverbs, so it loads nothing for other programs.
UCM_SRC := $(wildcard lib/ucm/*.c)
UCM_OBJ := $(UCM_SRC:lib/ucm/%.c=$(B)/obj/ucm/%.o)
UCM_LIB_OBJ := $(addprefix $(B)/obj/lib/,sys/debug.pic.o sys/sys.pic.o cuda/process.pic.o)

USER_TARGETS += $(B)/lib/libpeerpin-ucm.so.1

$(B)/obj/ucm/%.o: lib/ucm/%.c | $(B)/obj/ucm
	$(CC) $(CPPFLAGS) $(CFLAGS) -Ilib/include -Ikmod/uapi -DPP_IMPLEMENTATION -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<

# nodelete: the hook keeps a pointer to a function
$(B)/lib/libpeerpin-ucm.so.1: $(UCM_OBJ) $(UCM_LIB_OBJ) lib/ucm/libpeerpin-ucm.map $(B)/lib/libpeerpin.so | $(B)/lib
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,libpeerpin-ucm.so.1 -Wl,-z,defs -Wl,-z,nodelete \
		-Wl,--version-script=lib/ucm/libpeerpin-ucm.map -o $@ $(filter %.o,$^) -L$(B)/lib -lpeerpin -lpthread -ldl

# For the unit tests: without the functions of libibverbs, which would take the place of the tests' own. The name is not
# libucm.a, because the linker would take that for UCX's -lucm.
$(B)/lib/libranges.a: $(B)/obj/ucm/ranges.o

$(B)/obj/ucm:
	mkdir -p $@

-include $(UCM_OBJ:.o=.d)
