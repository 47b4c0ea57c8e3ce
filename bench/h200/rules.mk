# SPDX-License-Identifier: MIT
# The programs that bench/h200.sh runs on a host with a real GPU but no compiler. scripts/h200 makes h200-files.
H200 := $(B)/h200
H200_SRC := $(filter-out %/tensors.c,$(wildcard bench/h200/*.c))
H200_FILES := $(addprefix $(H200)/,h200 tensors.so libpeerpin.so.1 libpeerpin-hook.so.1 t_watch_dmabuf)

USER_TARGETS += $(H200_FILES)

h200-files: $(H200_FILES)

$(H200)/h200: $(H200_SRC) bench/h200/h200.h bench/bench.h $(B)/lib/libpeerpin.so $(B)/emu/libcuda.so | $(H200)
	$(CC) $(CPPFLAGS) $(CFLAGS) -Ilib/include -Iemu/include $(LDFLAGS) -o $@ $(H200_SRC) \
		-L$(B)/lib -L$(B)/emu -lpeerpin -lcuda -ldl

$(H200)/tensors.so: bench/h200/tensors.c $(B)/lib/libpeerpin.so $(B)/emu/libcuda.so | $(H200)
	$(CC) $(CPPFLAGS) $(CFLAGS) -Ilib/include -Iemu/include $(LDFLAGS) -fPIC -shared -o $@ $< \
		-L$(B)/lib -L$(B)/emu -lpeerpin -lcuda -lpthread -ldl

$(H200)/lib%: $(B)/lib/lib% | $(H200)
	cp $< $@

$(H200)/t_%: $(B)/bin/vm/t_% | $(H200)
	cp $< $@

$(H200):
	mkdir -p $@

.PHONY: h200-files
