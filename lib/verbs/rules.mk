# SPDX-License-Identifier: MIT
# libpeerpin-verbs.so is a separate library, so that libpeerpin does not need libibverbs.
VERBS_SRC := $(wildcard lib/verbs/*.c)
VERBS_OBJ := $(VERBS_SRC:lib/verbs/%.c=$(B)/obj/verbs/%.o)

USER_TARGETS += $(B)/lib/libpeerpin-verbs.so.1 $(B)/lib/libpeerpin-verbs.so

$(B)/obj/verbs/%.o: lib/verbs/%.c | $(B)/obj/verbs
	$(CC) $(CPPFLAGS) $(CFLAGS) -Ilib/include -DPP_IMPLEMENTATION -fPIC -fvisibility=hidden -MMD -MP -c -o $@ $<

$(B)/lib/libpeerpin-verbs.so.1: $(VERBS_OBJ) $(B)/obj/lib/sys/debug.pic.o lib/verbs/libpeerpin-verbs.map $(B)/lib/libpeerpin.so | $(B)/lib
	$(CC) $(CFLAGS) $(LDFLAGS) -shared -Wl,-soname,libpeerpin-verbs.so.1 -Wl,-z,defs \
		-Wl,--version-script=lib/verbs/libpeerpin-verbs.map -o $@ $(filter %.o,$^) -L$(B)/lib -lpeerpin -libverbs -ldl

$(B)/lib/libpeerpin-verbs.so: $(B)/lib/libpeerpin-verbs.so.1
	ln -sf libpeerpin-verbs.so.1 $@

# for the unit tests
$(B)/lib/libverbs.a: $(VERBS_OBJ)

$(B)/obj/verbs:
	mkdir -p $@

-include $(VERBS_OBJ:.o=.d)
