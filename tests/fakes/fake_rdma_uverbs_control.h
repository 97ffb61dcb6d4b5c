// A tenant's uverbs files in memory: objects that can be listed, stopped and destroyed.
//
// Behaves like the kernel where revoking depends on it: a protection domain is in use while the
// file holds anything else, a busy object refuses a number of times, a pinned one for ever.
//
// Header-only. Threading: thread-compatible.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/rdma/uverbs_control.h"

namespace rb::agent::rdma {

class FakeUverbsControl final : public UverbsControl {
 public:
  struct Object {
    ObjectKind kind;
    QpInfo qp;            // of a queue pair
    int busy_times = 0;   // Destroy() refuses this often, then succeeds
    bool pinned = false;  // Destroy() always refuses: a UD queue pair in a multicast group
    bool stuck = false;   // SetQpError() refuses

    bool operator==(const Object&) const = default;
  };

  // By descriptor, then handle. A descriptor without an entry is not a uverbs file.
  std::map<int, std::map<std::uint32_t, Object>> files;
  std::set<int> unplugged;           // descriptors whose device is gone
  std::vector<std::string> journal;  // "error qp 7", "destroy mr 3", in the order of the calls

  // Makes an object and returns its handle, unique over all kinds as in the kernel.
  std::uint32_t Add(int fd, const ObjectKind& kind) {
    files[fd][++last_handle_] = Object{.kind = kind, .qp = {}};
    files[fd][last_handle_].qp.state = QpState::kRts;
    return last_handle_;
  }

  Result<std::vector<std::uint32_t>> ListHandles(UverbsFile file, const ObjectKind& kind) override {
    RB_TRY_VOID(CheckFile(file));
    std::vector<std::uint32_t> handles;
    for (const auto& [handle, object] : files[file.fd]) {
      if (object.kind.object_id == kind.object_id) handles.push_back(handle);
    }
    std::ranges::reverse(handles);
    if (handles.size() > kHandlesListMax) handles.resize(kHandlesListMax);
    return handles;
  }

  Result<void> SetQpError(UverbsFile file, std::uint32_t qp_handle) override {
    RB_TRY(Object * object, Find(file, kQp, qp_handle));
    if (object->stuck) return Fail(ErrorCode::kInternal, "set qp to error: refused");
    object->qp.state = QpState::kError;
    journal.push_back("error qp " + std::to_string(qp_handle));
    return {};
  }

  Result<QpInfo> QueryQp(UverbsFile file, std::uint32_t qp_handle) override {
    RB_TRY(Object * object, Find(file, kQp, qp_handle));
    return object->qp;
  }

  Result<void> Destroy(UverbsFile file, const ObjectKind& kind, std::uint32_t handle) override {
    RB_TRY(Object * object, Find(file, kind, handle));
    const bool used = kind == kPd && HoldsMoreThanPds(file.fd);
    if (object->pinned || used || object->busy_times > 0) {
      if (object->busy_times > 0) --object->busy_times;
      return Fail(ErrorCode::kConflict, "destroy " + std::string(kind.name) + ": in use");
    }
    journal.push_back("destroy " + std::string(kind.name) + " " + std::to_string(handle));
    files[file.fd].erase(handle);
    return {};
  }

 private:
  Result<void> CheckFile(UverbsFile file) const {
    if (!files.contains(file.fd)) return Fail(ErrorCode::kInternal, "not a uverbs file");
    if (unplugged.contains(file.fd)) return Fail(ErrorCode::kNotFound, "the device is gone");
    return {};
  }

  Result<Object*> Find(UverbsFile file, const ObjectKind& kind, std::uint32_t handle) {
    RB_TRY_VOID(CheckFile(file));
    auto& objects = files[file.fd];
    const auto found = objects.find(handle);
    if (found == objects.end() || found->second.kind != kind) {
      return Fail(ErrorCode::kNotFound, "no such " + std::string(kind.name));
    }
    return &found->second;
  }

  bool HoldsMoreThanPds(int fd) {
    return std::ranges::any_of(files[fd],
                               [](const auto& entry) { return entry.second.kind != kPd; });
  }

  std::uint32_t last_handle_ = 0;
};

}  // namespace rb::agent::rdma
