# SPDX-License-Identifier: MIT
#
# examples/X_example.c or .cpp becomes $(B)/bin/examples/X. All examples may use libpeerpin and
# libcuda. Variables before the rule name other libraries of an example:
#	EXAMPLE_LIBS_X := -lrdmacm
#	EXAMPLE_DEPS_X := $(B)/lib/libmore.so (built first)
# The other sources make the demonstration, $(B)/bin/demo, and those of cluster/ the one of two nodes.
EXAMPLE_SRC := $(wildcard examples/*_example.c examples/*_example.cpp)
EXAMPLE_BIN := $(patsubst examples/%_example,$(B)/bin/examples/%,$(basename $(EXAMPLE_SRC)))
DEMO_SRC := $(filter-out $(EXAMPLE_SRC),$(wildcard examples/*.c))
DEMO_OBJ := $(DEMO_SRC:examples/%.c=$(B)/obj/examples/%.o)
# Two objects instead of libtool.a: the arm64 VM has the demonstration, but not the tool.
DEMO_TOOL_OBJ := $(B)/obj/tool/copy/pattern.o $(B)/obj/tool/util/units.o
EXAMPLE_LINK = $(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) -L$(B)/lib -L$(B)/emu -Wl,--as-needed

CLUSTER_OBJ := $(patsubst examples/%.c,$(B)/obj/examples/%.o,$(wildcard examples/cluster/*.c))

USER_TARGETS += $(B)/bin/demo $(B)/bin/demo-cluster $(EXAMPLE_BIN)

$(B)/obj/examples/%.o: examples/%.c | $(B)/obj/examples $(B)/obj/examples/cluster
	$(CC) $(CPPFLAGS) $(CFLAGS) -Ilib/include -Iemu/include -MMD -MP -c -o $@ $<

CXX_EXAMPLE_CFLAGS := -std=c++17 -Wpedantic $(filter-out -std=% -Wstrict-prototypes -Wmissing-prototypes,$(CFLAGS))

$(B)/obj/examples/%.o: examples/%.cpp | $(B)/obj/examples
	$(CXX) $(CPPFLAGS) $(CXX_EXAMPLE_CFLAGS) -Ilib/include -Iemu/include -MMD -MP -c -o $@ $<

$(B)/bin/demo: $(DEMO_OBJ) $(DEMO_TOOL_OBJ) $(B)/lib/libpeerpin.so $(B)/emu/libcuda.so | $(B)/bin
	$(EXAMPLE_LINK) -lpeerpin -lcuda

$(B)/bin/demo-cluster: $(CLUSTER_OBJ) $(B)/lib/libpeerpin.so $(B)/emu/libcuda.so | $(B)/bin
	$(EXAMPLE_LINK) -lrdmacm -libverbs -lpeerpin -lcuda

EXAMPLE_LIBS_raii := -lstdc++
EXAMPLE_LIBS_verbs := -lrdmacm -libverbs
EXAMPLE_DEPS_verbs := $(B)/lib/libpeerpin-verbs.so
EXAMPLE_LIBS_fabric := -lfabric
EXAMPLE_LIBS_fabric_rxm := -lfabric
EXAMPLE_LIBS_monitor := -lfabric
EXAMPLE_DEPS_monitor := $(B)/lib/libpeerpin-fi.so
EXAMPLE_DEPS_hook := $(B)/lib/libpeerpin-hook.so

define EXAMPLE_RULE
$(B)/bin/examples/$(1): $(B)/obj/examples/$(1)_example.o $$(EXAMPLE_DEPS_$(1)) \
		$(B)/lib/libpeerpin.so $(B)/emu/libcuda.so | $(B)/bin/examples
	$$(EXAMPLE_LINK) $$(EXAMPLE_DEPS_$(1)) $$(EXAMPLE_LIBS_$(1)) -lpeerpin -lcuda
endef
$(foreach x,$(notdir $(EXAMPLE_BIN)),$(eval $(call EXAMPLE_RULE,$(x))))

$(B)/obj/examples $(B)/obj/examples/cluster $(B)/bin/examples:
	mkdir -p $@

-include $(DEMO_OBJ:.o=.d) $(CLUSTER_OBJ:.o=.d) $(EXAMPLE_BIN:$(B)/bin/examples/%=$(B)/obj/examples/%_example.d)
