/* SPDX-License-Identifier: MIT */
#ifndef GDR_PUBLIC_H
#define GDR_PUBLIC_H

#include "gdrapi.h"

#define GDR_PUBLIC __attribute__((visibility("default")))

#endif
