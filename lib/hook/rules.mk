# SPDX-License-Identifier: MIT
# libpeerpin-hook.so comes before libcuda.so.1 in the symbol search order, and calls its
# subscribers before memory is freed.
HOOK_SRC := $(wildcard lib/hook/*.c)
HOOK_OBJ := $(HOOK_SRC:lib/hook/%.c=$(B)/obj/hook/%.o)
# The hook's symbols have no versions: otherwise references to dlsym@GLIBC would bypass the hook.
# nodelete: other libraries keep pointers to the hook's functions. lib/hook/symbol.c explains the last flag.
HOOK_LDFLAGS := -Wl,-soname,libpeerpin-hook.so.1 -Wl,-z,defs -Wl,-z,nodelete \
	-Wl,--version-script=lib/hook/libpeerpin-hook.map -Wl,--no-undefined-version
HOOK_CFLAGS := -Ilib/include -fPIC -fvisibility=hidden -ftls-model=initial-exec -O2 -foptimize-sibling-calls

# Sanitizers call dlsym() to find functions of libc before they can run instrumented code.
$(filter-out %/subscriber.o,$(HOOK_OBJ)): override CFLAGS += -fno-sanitize=all

USER_TARGETS += $(B)/lib/libpeerpin-hook.so.1 $(B)/lib/libpeerpin-hook.so

$(B)/obj/hook/%.o: lib/hook/%.c | $(B)/obj/hook
	$(CC) $(CPPFLAGS) $(CFLAGS) $(HOOK_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/lib/libpeerpin-hook.so.1: $(HOOK_OBJ) lib/hook/libpeerpin-hook.map | $(B)/lib
	$(CC) $(CFLAGS) $(LDFLAGS) -shared $(HOOK_LDFLAGS) -o $@ $(HOOK_OBJ) -ldl -lpthread

$(B)/lib/libpeerpin-hook.so: $(B)/lib/libpeerpin-hook.so.1
	ln -sf libpeerpin-hook.so.1 $@

$(B)/obj/hook:
	mkdir -p $@

-include $(HOOK_OBJ:.o=.d)
