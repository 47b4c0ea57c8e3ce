# SPDX-License-Identifier: MIT
TOOL_SRC := $(wildcard tool/*.c)
TOOL_OBJ := $(TOOL_SRC:tool/%.c=$(B)/obj/tool/%.o)
TOOL_JUDGE := $(B)/obj/judge/splat.o

USER_TARGETS += $(B)/bin/peerpin

$(B)/obj/tool/%.o: tool/%.c | $(B)/obj/tool
	$(CC) $(CPPFLAGS) $(CFLAGS) -Ikmod/uapi -Ilib/include -MMD -MP -c -o $@ $<

# libarchive statically: all that is used of it is tar and gzip, and as a shared
# library it would have each command load twenty others, XML and Unicode among them
$(B)/bin/peerpin: $(TOOL_OBJ) $(TOOL_JUDGE) $(B)/lib/libpeerpin.so | $(B)/bin
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(TOOL_OBJ) $(TOOL_JUDGE) -L$(B)/lib $(if $(NO_RPATH),,-Wl,-rpath,'$$ORIGIN/../lib') -lpeerpin -Wl,-Bstatic -larchive -Wl,-Bdynamic -ljson-c -lpci -lz -lncursesw -ltinfo -ldl

$(B)/bin $(B)/obj/tool:
	mkdir -p $@

-include $(TOOL_OBJ:.o=.d)
