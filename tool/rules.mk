# SPDX-License-Identifier: MIT
TOOL_SRC := $(wildcard tool/*.c tool/*/*.c tool/*/*/*.c)
TOOL_OBJ := $(TOOL_SRC:tool/%.c=$(B)/obj/tool/%.o)
TOOL_MAIN := $(B)/obj/tool/main.o

USER_TARGETS += $(B)/bin/peerpin

$(B)/obj/tool/%.o: tool/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) -Ilib/include -MMD -MP -c -o $@ $<

# all objects except main(); the unit tests and the fuzzer also link this archive
$(B)/lib/libtool.a: $(filter-out $(TOOL_MAIN),$(TOOL_OBJ))

# libarchive is linked statically: only tar and gzip are used, but the shared library
# would make each command load twenty other libraries, e.g. for XML and Unicode
$(B)/bin/peerpin: $(TOOL_MAIN) $(B)/lib/libverify.a $(B)/lib/libtool.a $(B)/lib/libjudge.a $(B)/obj/gdrapi/stream.o $(B)/lib/libpeerpin.so | $(B)/bin
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o %.a,$^) -L$(B)/lib $(if $(NO_RPATH),,-Wl,-rpath,'$$ORIGIN/../lib') -lpeerpin -Wl,-Bstatic -larchive -Wl,-Bdynamic -ljson-c -lpci -lz -lncursesw -ltinfo -ldl -lm

$(B)/bin:
	mkdir -p $@

-include $(TOOL_OBJ:.o=.d)
