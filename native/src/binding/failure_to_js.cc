#include "binding/failure_to_js.h"

namespace ringrun {
namespace {

const char* nameOf(FailureCode code) {
  switch (code) {
    case FailureCode::PeerDied: return "PEER_DIED";
    case FailureCode::Timeout: return "TIMEOUT";
    case FailureCode::Mismatch: return "MISMATCH";
    case FailureCode::System: return "SYSTEM";
    case FailureCode::Closed: return "CLOSED";
    case FailureCode::Untrusted: return "UNTRUSTED";
    case FailureCode::Altered: return "ALTERED";
  }
  return "SYSTEM";
}

}  // namespace

Napi::Error toJs(Napi::Env env, const OperationFailure& failed) {
  const Failure& failure = failed.failure;
  Napi::Error error = Napi::Error::New(env, failure.detail);
  Napi::Array ranks = Napi::Array::New(env, failure.ranks.size());
  for (std::uint32_t i = 0; i < failure.ranks.size(); ++i) {
    Napi::Object involved = Napi::Object::New(env);
    involved.Set("rank", failure.ranks[i].rank);
    if (failure.ranks[i].seenIn) involved.Set("seenIn", describe(*failure.ranks[i].seenIn));
    ranks.Set(i, involved);
  }
  error.Set("code", Napi::String::New(env, nameOf(failure.code)));
  error.Set("operation", Napi::String::New(env, describe(failed.fingerprint)));
  error.Set("timeoutMs", Napi::Number::New(env, failed.timeoutMs));
  error.Set("ranks", ranks);
  return error;
}

}  // namespace ringrun
