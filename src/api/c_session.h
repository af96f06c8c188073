// The C interface's session.
#pragma once

#include "api/c_support.h"
#include "realizar/session.h"

struct rz_session {
  rz_model& model;
  realizar::Session session;
};
