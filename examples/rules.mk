# SPDX-License-Identifier: MIT
DEMO_SRC := $(wildcard examples/*.c)
DEMO_OBJ := $(DEMO_SRC:examples/%.c=$(B)/obj/examples/%.o)
DEMO_TOOL_OBJ := $(B)/obj/tool/pattern.o $(B)/obj/tool/units.o

USER_TARGETS += $(B)/bin/demo

$(B)/obj/examples/%.o: examples/%.c | $(B)/obj/examples
	$(CC) $(CPPFLAGS) $(CFLAGS) -Ikmod/uapi -Ilib/include -Itool -Iemu/include -MMD -MP -c -o $@ $<

$(B)/bin/demo: $(DEMO_OBJ) $(DEMO_TOOL_OBJ) $(B)/lib/libpeerpin.so $(B)/emu/libcuda.so | $(B)/bin
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(DEMO_OBJ) $(DEMO_TOOL_OBJ) -L$(B)/lib -L$(B)/emu -lpeerpin -lcuda

$(B)/obj/examples:
	mkdir -p $@

-include $(DEMO_OBJ:.o=.d)
