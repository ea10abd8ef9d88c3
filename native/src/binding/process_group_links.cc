// The part of ProcessGroup that measures links and uses them.
#include <algorithm>
#include <string>
#include <vector>

#include "binding/algorithms.h"
#include "binding/call_arguments.h"
#include "binding/process_group.h"

namespace ringrun {
namespace {

// Once each of `hosts`.
std::vector<int> hostOrderOf(const Napi::Value& value, int hosts) {
  const auto given = value.As<Napi::Array>();
  std::vector<int> order;
  for (std::uint32_t i = 0; i < given.Length(); ++i) order.push_back(given.Get(i).As<Napi::Number>());
  std::vector<int> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  bool isOrder = static_cast<int>(order.size()) == hosts;
  for (std::size_t i = 0; isOrder && i < sorted.size(); ++i) isOrder = sorted[i] == static_cast<int>(i);
  if (!isOrder) throw Napi::TypeError::New(value.Env(), "expected each of " + std::to_string(hosts) + " hosts once");
  return order;
}

SizeRule ruleOf(const Napi::Object& given) {
  const auto op = static_cast<Op>(given.Get("op").As<Napi::Number>().Uint32Value());
  const std::string name = given.Get("algorithm").ToString();
  const std::optional<Algorithm> algorithm = algorithmNamed(name);
  if (!algorithm || !hasAlgorithm(op, Medium::Tcp, *algorithm)) {
    throw Napi::TypeError::New(given.Env(), "no algorithm '" + name + "' of operation " + std::to_string(static_cast<int>(op)));
  }
  // Infinity: any size.
  const double bytes = given.Get("upToBytes").As<Napi::Number>();
  constexpr double kMost = 1e18;
  return {op, static_cast<std::uint64_t>(std::clamp(bytes, 0.0, kMost)), *algorithm};
}

HostLinks linksOf(const Napi::Value& value, int hosts) {
  if (value.IsUndefined()) return {};
  const auto given = value.As<Napi::Object>();
  const auto matrixOf = [&](const char* name) {
    const Elements numbers = elementsOf(given.Get(name), DType::Float64);
    const auto all = static_cast<std::size_t>(hosts) * static_cast<std::size_t>(hosts);
    if (numbers.count != all) {
      throw Napi::TypeError::New(value.Env(), std::string("expected ") + std::to_string(all) + " numbers as " + name);
    }
    const auto* const data = static_cast<const double*>(numbers.data);
    return std::vector<double>(data, data + all);
  };
  return {hosts, matrixOf("delay"), matrixOf("bandwidth")};
}

}  // namespace

// (table, timeoutMs)
Napi::Value ProcessGroup::measureLinks(const Napi::CallbackInfo& info) {
  const Elements table = elementsOf(info[0], DType::Float64);
  const double timeoutMs = info[1].As<Napi::Number>();
  const auto hosts = static_cast<std::size_t>(group_.hosts());
  if (table.count != 3 * hosts * hosts) {
    throw Napi::TypeError::New(info.Env(), "expected a table of 3 × " + std::to_string(hosts) + " × " + std::to_string(hosts) + " numbers");
  }
  // Those of the reduction that ends the operation: all of its messages have one fingerprint.
  const Fingerprint request = fingerprintOf(Op::MeasureLinks, ReduceOp::Sum, DType::Float64, 0, table.count);
  const Work work = [this, request, timeoutMs, data = static_cast<double*>(table.data)] {
    return group_.measureLinks(group_.numbered(request), timeoutMs, data);
  };
  return runAsync(info.Env(), work, retainedObjects(info));
}

// (hostOrder, rules, timeoutMs, links?)
Napi::Value ProcessGroup::followRoutes(const Napi::CallbackInfo& info) {
  Routes routes;
  routes.hostOrder = hostOrderOf(info[0], group_.hosts());
  const auto rules = info[1].As<Napi::Array>();
  for (std::uint32_t i = 0; i < rules.Length(); ++i) routes.rules.push_back(ruleOf(rules.Get(i).As<Napi::Object>()));
  const Fingerprint request = fingerprintOf(Op::MeasureLinks, ReduceOp::None, DType::None, 0, 0);
  const double timeoutMs = info[2].As<Napi::Number>();
  const HostLinks links = linksOf(info[3], group_.hosts());
  const Work work = [this, request, timeoutMs, routes, links] { return group_.followRoutes(request, timeoutMs, routes, links); };
  return runAsync(info.Env(), work, info.Env().Undefined());
}

}  // namespace ringrun
