# SPDX-License-Identifier: MIT
PLOT_OBJ := $(patsubst bench/plot/%.c,$(B)/obj/bench/plot/%.o,$(wildcard bench/plot/*.c))

USER_TARGETS += $(B)/bin/bench/plot

$(B)/obj/bench/plot/%.o: bench/plot/%.c | $(B)/obj/bench/plot
	$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# all objects except main(), also for the unit test
$(B)/lib/libplot.a: $(filter-out %/main.o,$(PLOT_OBJ))

$(B)/bin/bench/plot: $(B)/obj/bench/plot/main.o $(B)/lib/libplot.a $(B)/lib/libtool.a | $(B)/bin/bench
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lm

$(B)/obj/bench/plot:
	mkdir -p $@

-include $(PLOT_OBJ:.o=.d)
