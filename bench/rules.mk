# SPDX-License-Identifier: MIT
# bench/X.c becomes $(B)/bin/bench/X; all share bench/bench.h.
BENCH_SRC := $(wildcard bench/*.c)
BENCH_BIN := $(BENCH_SRC:bench/%.c=$(B)/bin/bench/%)

USER_TARGETS += $(BENCH_BIN)

$(B)/bin/bench/%: bench/%.c $(B)/lib/libpeerpin.so $(B)/emu/libcuda.so | $(B)/bin/bench
	$(CC) $(CPPFLAGS) $(CFLAGS) -Ikmod/uapi -Ilib/include -Iemu/include -MMD -MP \
		$(LDFLAGS) -o $@ $< -L$(B)/lib -L$(B)/emu -Wl,--as-needed -lpeerpin -lcuda -lpthread

$(B)/bin/bench:
	mkdir -p $@

-include $(wildcard $(B)/bin/bench/*.d)
