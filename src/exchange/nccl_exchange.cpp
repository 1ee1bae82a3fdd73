#include "src/exchange/nccl_exchange.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <utility>

namespace softamp {
namespace {

using Bytes = Exchange::Bytes;
using Room = Exchange::Room;

constexpr size_t kAligned = 256;
constexpr size_t aligned(size_t bytes) { return (bytes + kAligned - 1) / kAligned * kAligned; }

std::string rank_text(const Exchange& control) { return "rank " + std::to_string(control.rank()); }

std::string nccl_version_text(int version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

/// What a rank says of itself before NCCL is opened, as bytes.
struct Hello {
  int version = 0;  ///< 0: it cannot
  bool self = false;
  size_t least = 0, chunk = 0;
  unsigned char id[NcclTable::kIdBytes] = {};  ///< of rank 0
  char why[512] = {};
};

/// On which GPU a rank works, or why on none.
int device_of(const Exchange& control, const NcclSettings& settings, const NcclTable& table) {
  const int devices = table.devices();
  if (devices < 0) throw std::runtime_error(table.why());
  const int local = control.local_rank(), locals = control.local_ranks();
  if (settings.device >= devices)
    throw std::runtime_error("GPU " + std::to_string(settings.device) + "; expected 0.." + std::to_string(devices - 1));
  if (settings.device >= 0) return settings.device;
  if (devices >= locals) return local;
  if (devices == 1) return 0;  // each process was given one; NCCL refuses two ranks on the same
  throw std::runtime_error(std::to_string(locals) + " ranks on this machine, and " + std::to_string(devices) +
                           (devices == 1 ? " GPU" : " GPUs") + "; expected a GPU for each rank");
}

struct Agreement {
  const NcclTable* table = nullptr;
  int device = 0, version = 0;
  Hello first;      ///< of rank 0
  std::string why;  ///< the same on all ranks; empty: NCCL can be used
};

/// All ranks tell each other whether they can. `for_all`: rank 0 makes the communicator's id.
Agreement agree(Exchange& control, const NcclSettings& settings, const NcclTable* table, bool for_all) {
  Agreement found;
  Hello mine;
  mine.self = settings.self;
  mine.least = settings.least;
  mine.chunk = settings.chunk;
  try {
    if (settings.least == 0) throw std::runtime_error("NcclSettings::least = 0; expected 1 or more");
    found.table = table ? table : &nccl_table();
    found.version = found.table->version();
    if (found.version == 0) throw std::runtime_error(found.table->why());
    found.device = device_of(control, settings, *found.table);
    if (for_all && control.rank() == 0 && !found.table->new_id(mine.id)) throw std::runtime_error(found.table->why());
    mine.version = found.version;
  } catch (const std::runtime_error& error) {
    std::strncpy(mine.why, error.what(), sizeof mine.why - 1);
  }
  const size_t ranks = static_cast<size_t>(control.ranks());
  std::vector<Hello> all(ranks);
  std::vector<Room> rooms;
  for (Hello& each : all) rooms.push_back(std::as_writable_bytes(std::span(&each, 1)));
  control.all_gather(std::as_bytes(std::span(&mine, 1)), rooms);
  found.first = all[0];
  for (size_t i = 0; i < ranks && found.why.empty(); ++i) {
    const std::string who = "rank " + std::to_string(i) + " (of " + std::to_string(ranks) + ")";
    if (all[i].version == 0)
      found.why = who + ": " + all[i].why;
    else if (all[i].version != all[0].version)
      found.why = who + " has NCCL " + nccl_version_text(all[i].version) + ", rank 0 has " +
                  nccl_version_text(all[0].version) + "; expected the same on all ranks";
    else if (all[i].least != all[0].least || all[i].chunk != all[0].chunk || all[i].self != all[0].self)
      found.why = who + " has other NcclSettings than rank 0; expected the same on all ranks";
  }
  return found;
}

/// A piece of a message: where it lies in a lane's room, and where in the caller's memory.
template <class Span>
struct Piece {
  int peer;
  size_t offset;
  Span host;
};

/// What a lane does at once.
struct Transfer {
  std::vector<Piece<Bytes>> out;  ///< those of one offset are the same bytes
  std::vector<Piece<Room>> in;
  size_t out_bytes = 0, in_bytes = 0;  ///< of a lane's room
  size_t gathered = 0;                 ///< not 0: one ncclAllGather of so many bytes from each rank
};

class NcclExchange final : public Exchange {
 public:
  NcclExchange(std::unique_ptr<Exchange> control, const NcclSettings& settings, const Agreement& agreed)
      : control_(std::move(control)), settings_(settings), table_(*agreed.table), version_(agreed.version) {
    nccl_ = table_.open(agreed.device, ranks(), rank(), agreed.first.id);
    if (!nccl_) fail();
    try {
      wait([&] { return table_.state(nccl_); });
    } catch (...) {
      stop();
      throw;
    }
  }

  ~NcclExchange() override {
    if (!nccl_) return;
    // In order where nothing has gone wrong. A rank that comes late is not waited for long: it misses nothing that it
    // was sent, since each call has waited for what it received.
    bool finished = false;
    if (!control_->broken() && std::uncaught_exceptions() == 0 && table_.use(nccl_) && table_.finish(nccl_)) {
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
      NcclTable::Found found = NcclTable::kUnderWay;
      for (bool more = true; more && found == NcclTable::kUnderWay; found = table_.state(nccl_)) {
        more = !control_->broken() && std::chrono::steady_clock::now() < end;
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
      finished = found == NcclTable::kDone;
    }
    table_.close(nccl_, finished);
  }

  int rank() const override { return control_->rank(); }
  int ranks() const override { return control_->ranks(); }
  int local_rank() const override { return control_->local_rank(); }
  int local_ranks() const override { return control_->local_ranks(); }
  std::string about() const override {
    return "NCCL " + nccl_version_text(version_) + ", and " + control_->about() + " for small messages";
  }

  void all_to_all(std::span<const Bytes> to, std::span<const Room> from) override {
    expect_ranks(to.size(), from.size());
    expect_same_size(to[static_cast<size_t>(rank())], from[static_cast<size_t>(rank())]);
    begin();
    // Both ends of a message know its size, and so which way it takes. The other exchange is called in any case: only
    // all ranks together know whether one of them has a small message.
    std::vector<Bytes> small_to(to.begin(), to.end());
    std::vector<Room> small_from(from.begin(), from.end());
    std::vector<Bytes> large_to(to.size());
    std::vector<Room> large_from(from.size());
    for (size_t i = 0; i < to.size(); ++i) {
      if (by_nccl(i, to[i].size())) std::swap(large_to[i], small_to[i]);
      if (by_nccl(i, from[i].size())) std::swap(large_from[i], small_from[i]);
    }
    control_->all_to_all(small_to, small_from);
    run(rounds_of(large_to, large_from), [&](size_t round) {
      Transfer transfer;
      for (size_t i = 0; i < to.size(); ++i) {
        add(transfer.out, transfer.out_bytes, i, part(large_to[i], round));
        add(transfer.in, transfer.in_bytes, i, part(large_from[i], round));
      }
      return transfer;
    });
  }

  void all_gather(Bytes mine, std::span<const Room> all) override {
    const size_t me = static_cast<size_t>(rank());
    expect_ranks(all.size(), all.size());
    expect_same_size(mine, all[me]);
    begin();
    // Here each rank knows all sizes.
    std::vector<Room> small(all.begin(), all.end()), large(all.size());
    bool any_small = false;
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].size() >= settings_.least) std::swap(large[i], small[i]);
      any_small = any_small || !small[i].empty();
    }
    if (any_small) control_->all_gather(small[me].empty() ? Bytes() : mine, small);
    if (!large[me].empty() && !settings_.self && mine.data() != large[me].data())
      std::memmove(large[me].data(), mine.data(), mine.size());
    if (all.size() == 1 && !settings_.self) return;
    const Bytes large_mine = large[me].empty() ? Bytes() : mine;
    run(rounds_of({}, large), [&](size_t round) { return gathering(large_mine, large, round); });
  }

  void barrier() override {
    begin();
    control_->barrier();
  }

  bool broken() const noexcept override { return stopped_ || control_->broken(); }
  void leave(int code, const std::string& why) noexcept override { control_->leave(code, why); }

 private:
  void expect_ranks(size_t to, size_t from) const {
    const size_t expected = static_cast<size_t>(ranks());
    if (to != expected || from != expected)
      throw std::logic_error("exchange: messages to " + std::to_string(to) + " ranks and from " + std::to_string(from) +
                             "; expected " + std::to_string(expected));
  }

  void expect_same_size(Bytes mine, Room own) const {
    if (mine.size() != own.size())
      throw std::logic_error("exchange: rank " + std::to_string(rank()) + " has " + std::to_string(mine.size()) +
                             " bytes for itself; expected " + std::to_string(own.size()));
  }

  /// A call begins.
  void begin() {
    if (stopped_) lost();
    if (!table_.use(nccl_)) fail();
  }

  bool by_nccl(size_t peer, size_t bytes) const {
    return bytes >= settings_.least && (settings_.self || peer != static_cast<size_t>(rank()));
  }

  // Pieces.

  /// Bytes of a message that go in one round.
  size_t piece() const { return aligned(std::max(settings_.least, settings_.chunk / static_cast<size_t>(ranks()))); }

  template <class Span>
  Span part(Span message, size_t round) const {
    const size_t begin = std::min(message.size(), round * piece());
    return message.subspan(begin, std::min(piece(), message.size() - begin));
  }
  size_t rounds_of(const std::vector<Bytes>& to, const std::vector<Room>& from) const {
    size_t most = 0;
    for (const Bytes& each : to) most = std::max(most, each.size());
    for (const Room& each : from) most = std::max(most, each.size());
    return (most + piece() - 1) / piece();
  }
  template <class Span>
  static void add(std::vector<Piece<Span>>& pieces, size_t& used, size_t peer, Span host) {
    if (host.empty()) return;
    pieces.push_back({static_cast<int>(peer), used, host});
    used += aligned(host.size());
  }

  /// A round of all_gather: ncclAllGather, with what shorter pieces lack filled up, where that is a fifth at most.
  Transfer gathering(Bytes mine, const std::vector<Room>& all, size_t round) const {
    Transfer transfer;
    size_t longest = 0, sum = 0;
    for (const Room& each : all) {
      const size_t bytes = part(each, round).size();
      longest = std::max(longest, bytes);
      sum += bytes;
    }
    const size_t me = static_cast<size_t>(rank());
    const Bytes out = part(mine, round);
    if (longest * all.size() <= sum + sum / 4) {
      transfer.gathered = aligned(longest);
      transfer.out_bytes = transfer.gathered;
      transfer.in_bytes = transfer.gathered * all.size();
      if (!out.empty()) transfer.out.push_back({rank(), 0, out});
      for (size_t i = 0; i < all.size(); ++i)
        if (const Room in = part(all[i], round); !in.empty() && (settings_.self || i != me))
          transfer.in.push_back({static_cast<int>(i), i * transfer.gathered, in});
      return transfer;
    }
    for (size_t i = 0; i < all.size(); ++i) {
      if (!settings_.self && i == me) continue;
      if (!out.empty()) transfer.out.push_back({static_cast<int>(i), 0, out});
      add(transfer.in, transfer.in_bytes, i, part(all[i], round));
    }
    transfer.out_bytes = aligned(out.size());
    return transfer;
  }

  // Lanes.

  struct Lane {
    char *out = nullptr, *in = nullptr;
    size_t out_room = 0, in_room = 0;
  };

  /// Rounds go through the lanes in turn: while one is under way, the other is emptied and filled.
  template <class Make>
  void run(size_t rounds, const Make& make) {
    if (rounds == 0) return;
    reserve(make(0));  // the largest: no later piece is longer, and what is gathered at once is so from the first on
    Transfer under_way[NcclTable::kLanes];
    for (size_t round = 0; round < rounds + NcclTable::kLanes; ++round) {
      const int number = static_cast<int>(round % NcclTable::kLanes);
      Transfer& transfer = under_way[number];
      if (round >= NcclTable::kLanes && round - NcclTable::kLanes < rounds) {
        wait([&] { return table_.arrived(nccl_, number); });
        for (const Piece<Room>& p : transfer.in)
          std::memcpy(p.host.data(), lanes_[number].in + p.offset, p.host.size());
      }
      if (round >= rounds) continue;
      transfer = make(round);
      start(number, transfer);
    }
  }

  /// Room for a round in both lanes. To get or free memory can take until the device is idle, which it never is if a
  /// rank is gone in the midst of a transfer: so it is done before the first one.
  void reserve(const Transfer& transfer) {
    for (int number = 0; number < NcclTable::kLanes; ++number) {
      Lane& lane = lanes_[number];
      if (transfer.out_bytes <= lane.out_room && transfer.in_bytes <= lane.in_room) continue;
      lane.out_room = std::max(lane.out_room, transfer.out_bytes);
      lane.in_room = std::max(lane.in_room, transfer.in_bytes);
      void *out = nullptr, *in = nullptr;
      expect(table_.reserve(nccl_, number, lane.out_room, lane.in_room, &out, &in));
      lane.out = static_cast<char*>(out);
      lane.in = static_cast<char*>(in);
    }
  }

  void start(int number, const Transfer& transfer) {
    const Lane& lane = lanes_[number];
    if (transfer.out_bytes > lane.out_room || transfer.in_bytes > lane.in_room)
      throw std::logic_error("exchange: a round that is larger than the first");
    for (const Piece<Bytes>& p : transfer.out)
      if (&p == &transfer.out.front() || p.offset != 0) std::memcpy(lane.out + p.offset, p.host.data(), p.host.size());
    expect(table_.upload(nccl_, number, transfer.out_bytes));
    if (transfer.gathered != 0) {
      expect(table_.gather(nccl_, number, transfer.gathered));
    } else {
      expect(table_.begin_group(nccl_));
      bool good = true;
      for (const Piece<Bytes>& p : transfer.out)
        good = good && table_.send(nccl_, number, p.offset, p.host.size(), p.peer);
      for (const Piece<Room>& p : transfer.in)
        good = good && table_.receive(nccl_, number, p.offset, p.host.size(), p.peer);
      const std::string why = good ? "" : table_.why();
      const bool ended = table_.end_group(nccl_);  // in any case: it is this thread's
      if (!good) fail(why);
      expect(ended);
    }
    wait([&] { return table_.state(nccl_); });
    expect(table_.download(nccl_, number, transfer.in_bytes));
  }

  // Waiting and failing.

  /// Until `look` says done. Every while it is asked whether another rank is gone.
  template <class Look>
  void wait(const Look& look) {
    for (unsigned turn = 1;; ++turn) {
      const NcclTable::Found found = look();
      if (found == NcclTable::kDone) return;
      if (found == NcclTable::kFailed) fail();
      if (turn % 32 == 0) {
        if (control_->broken()) lost();
        if (table_.state(nccl_) == NcclTable::kFailed) fail();
      }
      if (turn < 1024)
        std::this_thread::yield();
      else
        std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  }

  void expect(bool good) {
    if (!good) fail();
  }

  void stop() noexcept {
    stopped_ = true;
    if (nccl_) table_.close(nccl_, false);
    nccl_ = nullptr;
  }

  /// Another rank is gone, as the other exchange says.
  [[noreturn]] void lost() {
    stop();
    control_->barrier();  // throws what it knows
    throw ExchangeError("the exchange " + control_->about() + " is broken");
  }

  [[noreturn]] void fail() { fail(table_.why()); }

  /// NCCL or the GPU failed: most often since another rank is gone, and then the other exchange says soon which.
  [[noreturn]] void fail(const std::string& why) {
    stop();
    const auto end = std::chrono::steady_clock::now() + settings_.patience;
    while (!control_->broken() && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (control_->broken()) lost();
    const std::string text = rank_text(*control_) + ": NCCL " + nccl_version_text(version_) + ": " + why;
    control_->leave(ExchangeError::kLost, text);
    throw ExchangeError(text);
  }

  std::unique_ptr<Exchange> control_;
  const NcclSettings settings_;
  const NcclTable& table_;
  const int version_;
  Nccl* nccl_ = nullptr;
  Lane lanes_[NcclTable::kLanes];
  std::atomic<bool> stopped_ = false;
};

}  // namespace

std::string why_no_nccl(Exchange& control, const NcclSettings& settings, const NcclTable* table) {
  return agree(control, settings, table, false).why;
}

std::unique_ptr<Exchange> open_nccl_exchange(std::unique_ptr<Exchange> control, const NcclSettings& settings,
                                             const NcclTable* table) {
  const Agreement agreed = agree(*control, settings, table, true);
  if (!agreed.why.empty()) throw std::runtime_error(agreed.why);
  return std::make_unique<NcclExchange>(std::move(control), settings, agreed);
}

}  // namespace softamp
