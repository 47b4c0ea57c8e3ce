# SPDX-License-Identifier: MIT
DEMO_OBJ := $(B)/obj/tool/pattern.o $(B)/obj/tool/units.o

USER_TARGETS += $(B)/bin/demo

$(B)/bin/demo: examples/demo.c $(DEMO_OBJ) $(B)/lib/libpeerpin.so $(B)/emu/libcuda.so | $(B)/bin
	$(CC) $(CPPFLAGS) $(CFLAGS) -Ikmod/uapi -Ilib/include -Itool -Iemu/include -MMD -MP \
		-MF $(B)/obj/demo.d $(LDFLAGS) -o $@ $< $(DEMO_OBJ) -L$(B)/lib -L$(B)/emu -lpeerpin -lcuda

-include $(wildcard $(B)/obj/demo.d)
