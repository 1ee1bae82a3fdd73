// Checkpoint files: everything comes back to the bit, nothing broken is taken for whole, and a write that fails leaves
// the old file as it was.
#include "softamp/train/checkpoint.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "softamp/data/images.h"
#include "src/data/archive.h"
#include "src/files/file_lock.h"
#include "src/train/checkpoint_entries.h"
#include "src/train/checkpoint_file.h"
#include "tests/files.h"
#include "tests/refusal.h"
#include "tests/small_disk.h"

namespace softamp {
namespace {

using test::read_text;
using test::refusal;
using test::SmallDisk;
using test::TemporaryFolder;
using test::write_text;

Tensor codes(DType dtype, const Shape& shape, uint64_t first) {
  Tensor t(dtype, shape);
  auto* bytes = static_cast<uint8_t*>(t.data());
  for (size_t i = 0; i < t.bytes(); ++i) bytes[i] = static_cast<uint8_t>(first + 37 * i);
  if (dtype == DType::kBool)
    for (uint8_t& b : t.as<uint8_t>()) b &= 1;
  return t;
}

/// A state with every dtype, a scalar, an empty tensor, and codes of NaNs.
Checkpoint sample(size_t replicas) {
  Checkpoint c;
  c.settings = R"({"network":"small_cnn","learning_rate":0.01,"seed":18446744073709551615})";
  c.progress = R"({"epoch_sum":"nan","log_lines":7})";
  c.state.step = 123456789012;
  c.state.optimizer_step = 123456789011;
  c.state.executions = 4000000000u;
  c.state.loss_scale = {0x1.fffffep-149f, 3, 4, 5, 6};
  for (size_t r = 0; r < replicas; ++r) {
    auto& all = c.state.tensors.emplace_back();
    all.emplace_back("conv2d/kernel", codes(DType::kFloat16, {3, 3, 1, 2}, 200 + r));
    all.emplace_back("conv2d/kernel/Momentum", codes(DType::kBFloat16, {3, 3, 1, 2}, 250));
    all.emplace_back("dense/bias", codes(DType::kFloat32, {5}, 120));
    all.emplace_back("scalar", codes(DType::kFloat64, {}, 1));
    all.emplace_back("empty", codes(DType::kFloat32, {0, 3}, 1));
    all.emplace_back("step", codes(DType::kInt32, {2}, 9));
    all.emplace_back("flag", codes(DType::kBool, {3}, 1));
  }
  return c;
}

void expect_equal(const Checkpoint& a, const Checkpoint& b) {
  EXPECT_EQ(a.settings, b.settings);
  EXPECT_EQ(a.progress, b.progress);
  EXPECT_EQ(a.state.step, b.state.step);
  EXPECT_EQ(a.state.optimizer_step, b.state.optimizer_step);
  EXPECT_EQ(a.state.executions, b.state.executions);
  EXPECT_EQ(a.state.loss_scale, b.state.loss_scale);
  ASSERT_EQ(a.state.tensors.size(), b.state.tensors.size());
  for (size_t r = 0; r < a.state.tensors.size(); ++r) {
    ASSERT_EQ(a.state.tensors[r].size(), b.state.tensors[r].size());
    for (size_t t = 0; t < a.state.tensors[r].size(); ++t) {
      EXPECT_EQ(a.state.tensors[r][t].first, b.state.tensors[r][t].first);
      EXPECT_TRUE(a.state.tensors[r][t].second.same_bits(b.state.tensors[r][t].second)) << a.state.tensors[r][t].first;
    }
  }
}

/// What load_checkpoint says of a file; "" where it takes it.
std::string load_error(const std::string& file) {
  return test::refusal<CheckpointError>([&] { load_checkpoint(file); });
}
std::string save_error(const Checkpoint& c, const std::string& file) {
  return test::refusal<CheckpointError>([&] { save_checkpoint(c, file); });
}

TEST(Checkpoint, EverythingComesBack) {
  const TemporaryFolder folder;
  for (const size_t replicas : {1u, 2u, 3u}) {
    const Checkpoint c = sample(replicas);
    save_checkpoint(c, folder.file("a.npz"));
    expect_equal(load_checkpoint(folder.file("a.npz")), c);
  }
  EXPECT_EQ(folder.entries(), 1u) << "temporary files stay behind";
}

TEST(Checkpoint, EqualStatesGiveEqualFiles) {
  const TemporaryFolder folder;
  save_checkpoint(sample(2), folder.file("a.npz"));
  save_checkpoint(sample(2), folder.file("b.npz"));
  EXPECT_EQ(read_text(folder.file("a.npz")), read_text(folder.file("b.npz")));
}

// Any changed byte is noticed, or stands where nothing is read (dates of the archive): then the same comes back.
TEST(Checkpoint, AChangedByteIsNeverTakenForContents) {
  const TemporaryFolder folder;
  const Checkpoint c = sample(1);
  save_checkpoint(c, folder.file("a.npz"));
  const std::string good = read_text(folder.file("a.npz"));
  size_t noticed = 0;
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (at % 2 ? 0x01 : 0xa0));
    write_text(folder.file("b.npz"), bad);
    try {
      expect_equal(load_checkpoint(folder.file("b.npz")), c);
      ASSERT_FALSE(HasFailure()) << "byte " << at;
    } catch (const CheckpointError& e) {
      ++noticed;
      ASSERT_NE(std::string(e.what()).find("b.npz"), std::string::npos) << e.what();
    }
  }
  // All but the fixed part of the archive's headers: 30 and 46 bytes for each of 8 entries, 22 at the end.
  EXPECT_GE(noticed + 8 * (30 + 46) + 22, good.size());
}

TEST(Checkpoint, ATruncatedFileIsRefused) {
  const TemporaryFolder folder;
  save_checkpoint(sample(1), folder.file("a.npz"));
  const std::string good = read_text(folder.file("a.npz"));
  for (size_t length = 0; length < good.size(); ++length) {
    write_text(folder.file("b.npz"), good.substr(0, length));
    ASSERT_NE(load_error(folder.file("b.npz")), "") << length << " of " << good.size() << " bytes";
  }
}

TEST(Checkpoint, WhatIsNoCheckpointIsNamed) {
  const TemporaryFolder folder;
  EXPECT_NE(load_error(folder.file("none.npz")).find("none.npz"), std::string::npos);
  EXPECT_NE(load_error(folder.path().string()), "");
  write_text(folder.file("text.npz"), "no archive");
  EXPECT_NE(load_error(folder.file("text.npz")).find("expected a checkpoint"), std::string::npos);

  save_checkpoint(sample(1), folder.file("a.npz"));
  std::vector<archive::Entry> entries = archive::read_zip(folder.file("a.npz"), 1 << 20);
  const auto error_of = [&](const std::vector<archive::Entry>& changed) {
    files::OutputFile out(folder.file("b.npz"));
    archive::write_zip(out, changed);
    out.commit();
    return load_error(folder.file("b.npz"));
  };
  // The archive's own checksums agree in all of these.
  std::vector<archive::Entry> bad = entries;
  bad[2].bytes.back() ^= std::byte{1};
  const std::string mismatch = error_of(bad);
  EXPECT_NE(mismatch.find("checksum is "), std::string::npos) << mismatch;
  EXPECT_NE(mismatch.find("; expected "), std::string::npos) << mismatch;

  bad = entries;
  bad.erase(bad.begin() + 1);
  EXPECT_NE(error_of(bad).find("checksum"), std::string::npos);
  bad = entries;
  std::swap(bad[0], bad[1]);
  EXPECT_NE(error_of(bad).find("checksum"), std::string::npos);
  bad = entries;
  bad.pop_back();
  EXPECT_NE(error_of(bad).find("checkpoint.json"), std::string::npos);
  EXPECT_NE(error_of({}), "");
}

// Bytes that someone made, with a checksum that agrees.
TEST(Checkpoint, WhatStandsBehindAValidChecksumIsCheckedToo) {
  const auto error_of = [](const std::string& rest) {
    archive::Entry entry{"checkpoint.json", {}};
    for (const char c : train_detail::with_checksum({}, rest)) entry.bytes.push_back(static_cast<std::byte>(c));
    return refusal<CheckpointError>([&] { train_detail::checkpoint_of({&entry, 1}, "a.npz"); });
  };
  const auto with_all = [&](const std::string& step, const std::string& replicas, const std::string& tensors,
                            const std::string& scale) {
    return error_of(R"("settings":{},"progress":{},"state":{"step":)" + step +
                    R"(,"optimizer_step":0,"executions":0,"replicas":)" + replicas + R"(,"loss_scale":{"scale":)" +
                    scale + R"(,"good_steps":0,"consecutive":0,"seen_elements":0,"seen_above":0}},"tensors":)" +
                    tensors + "}");
  };
  const auto with_state = [&](const std::string& step, const std::string& replicas, const std::string& tensors) {
    return with_all(step, replicas, tensors, "1");
  };
  const auto with_scale = [&](const std::string& scale) { return with_all("5", "1", "[]", scale); };
  const std::string ours = "; expected a checkpoint that softamp wrote";
  EXPECT_EQ(with_state("5", "256", "[]"), "");
  EXPECT_EQ(with_state("5", "257", "[]"), "a.npz: 'replicas' is 257; expected a whole number in 0..256" + ours);
  EXPECT_EQ(with_state("-1", "1", "[]"),
            "a.npz: 'step' is -1; expected a whole number in 0..9223372036854775807" + ours);
  for (const auto& [step, shown] :
       {std::pair{"1e300", "1e+300"}, {"1.5", "1.5"}, {"9223372036854775808", "9223372036854775808"}})
    EXPECT_EQ(with_state(step, "1", "[]"),
              "a.npz: 'step' is " + std::string(shown) + "; expected a whole number in 0..9223372036854775807" + ours);
  for (const char* scale : {"1e+300", "-1e+300", "true", "null", "\"1\""})
    EXPECT_EQ(with_scale(scale), "a.npz: 'scale' is " + std::string(scale) + "; expected a number of float32" + ours);
  EXPECT_EQ(with_scale("3.4028234663852886e38"), "");
  EXPECT_EQ(with_state("5", "1", "[1]"), "a.npz: 0 tensors; expected the 1 that checkpoint.json names");
  EXPECT_EQ(error_of(R"("settings":)" + std::string(100000, '[') + std::string(100000, ']') + "}").substr(0, 30),
            "a.npz: checkpoint.json: line 1");
  EXPECT_EQ(error_of("\"settings\":{}}"), "a.npz: key 'progress' not found" + ours);

  archive::Entry newer{"checkpoint.json", {}};
  for (const char c : std::string("{\"softamp_checkpoint\":2}")) newer.bytes.push_back(static_cast<std::byte>(c));
  EXPECT_EQ(
      refusal<CheckpointError>([&] {
        train_detail::checkpoint_of({&newer, 1}, "a.npz");
      }),
      "a.npz: checkpoint.json: its \"softamp_checkpoint\" is 2: it is of a newer version of softamp than this one, "
      "which reads 1");
}

TEST(Checkpoint, WhatIsSavedMustBeJson) {
  const TemporaryFolder folder;
  Checkpoint c = sample(1);
  c.settings = "[1]";
  EXPECT_NE(save_error(c, folder.file("a.npz")).find("settings"), std::string::npos);
  EXPECT_EQ(folder.entries(), 0u);
}

TEST(Checkpoint, ABrokenWriteLeavesTheGoodOne) {
  const TemporaryFolder folder;
  const std::string file = folder.file("a.npz");
  save_checkpoint(sample(1), file);
  const std::string good = read_text(file);
  Checkpoint later = sample(2);
  later.state.step = 7;
  for (const rlim_t room : {0u, 1u, 100u, 1000u, 2500u}) {
    std::string error;
    {
      const SmallDisk disk(room);
      error = save_error(later, file);
    }
    ASSERT_NE(error, "") << room << " bytes of room";
    EXPECT_NE(error.find("a.npz"), std::string::npos) << error;
    EXPECT_EQ(read_text(file), good) << room;
    EXPECT_EQ(folder.entries(), 1u) << "temporary files stay behind";
  }
  // The temporary file's place is taken.
  std::filesystem::create_directory(folder.path() / ".a.npz.part");
  EXPECT_NE(save_error(later, file), "");
  EXPECT_EQ(read_text(file), good);
}

// Two runs with one checkpoint would each keep half of theirs.
TEST(Checkpoint, OneWriterAtATime) {
  const TemporaryFolder folder;
  const std::string file = folder.file("a.npz"), link = folder.file("link.npz");
  const std::string busy = " is being written by process " + std::to_string(getpid()) + "; expected one run at a time";
  save_checkpoint(sample(1), file);
  std::filesystem::create_symlink("a.npz", link);
  {
    train_detail::CheckpointFile mine(file);
    for (const std::string& name : {file, link}) {
      EXPECT_EQ(save_error(sample(2), name), "the checkpoint: '" + name + "'" + busy);
      EXPECT_EQ(test::refusal<CheckpointError>([&] { train_detail::load_alone(name); }),
                "the checkpoint: '" + name + "'" + busy);
    }
    mine.save(sample(3));
    mine.save(sample(2));
    expect_equal(load_checkpoint(file), sample(2));
  }
  EXPECT_EQ(folder.entries(), 2u) << "neither a lock nor a part stays";
  save_checkpoint(sample(3), link);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  expect_equal(train_detail::load_alone(file), sample(3));
}

TEST(Checkpoint, PlacesThatCannotHoldOne) {
  const TemporaryFolder folder;
  const Checkpoint c = sample(1);
  EXPECT_NE(save_error(c, folder.path().string()).find("expected the name of a regular file"), std::string::npos);
  EXPECT_NE(save_error(c, "/dev/full").find("expected the name of a regular file"), std::string::npos);
  EXPECT_NE(save_error(c, folder.file("missing/a.npz")), "");
  EXPECT_NE(save_error(c, ""), "");
  EXPECT_EQ(folder.entries(), 0u);
}

// NumPy has no bfloat16: its codes are u2, and the file says so.
TEST(Checkpoint, DtypesInTheFile) {
  const TemporaryFolder folder;
  save_checkpoint(sample(1), folder.file("a.npz"));
  const std::vector<archive::Entry> entries = archive::read_zip(folder.file("a.npz"), 1 << 20);
  const std::pair<const char*, const char*> expected[] = {
      {"variables/conv2d/kernel.npy", "'<f2'"}, {"variables/conv2d/kernel/Momentum.npy", "'<u2'"},
      {"variables/dense/bias.npy", "'<f4'"},    {"variables/scalar.npy", "'<f8'"},
      {"variables/empty.npy", "'<f4'"},         {"variables/step.npy", "'<i4'"},
      {"variables/flag.npy", "'|b1'"},          {"checkpoint.json", "bfloat16"}};
  ASSERT_EQ(entries.size(), std::size(expected));
  for (size_t e = 0; e < entries.size(); ++e) {
    EXPECT_EQ(entries[e].name, expected[e].first);
    const std::string text(reinterpret_cast<const char*>(entries[e].bytes.data()), entries[e].bytes.size());
    EXPECT_NE(text.find(expected[e].second), std::string::npos) << expected[e].first;
  }
}

TEST(Checkpoint, NumPyReadsIt) {
  if (std::system("python3 -c 'import numpy' 2> /dev/null") != 0) GTEST_SKIP() << "python3 has no numpy";
  const TemporaryFolder folder;
  save_checkpoint(sample(1), folder.file("a.npz"));
  const std::string script = "import numpy; z = numpy.load('" + folder.file("a.npz") +
                             "'); print(z['variables/conv2d/kernel'].dtype, z['variables/conv2d/kernel'].shape, "
                             "z['variables/conv2d/kernel/Momentum'].dtype, "
                             "z['variables/step'].view('u1').tolist())";
  ASSERT_EQ(std::system(("python3 -c \"" + script + "\" > " + folder.file("out")).c_str()), 0);
  EXPECT_EQ(read_text(folder.file("out")), "float16 (3, 3, 1, 2) uint16 [9, 46, 83, 120, 157, 194, 231, 12]\n");
}

/// Variables are float32 in both (MIXED_PRECISION K22).
// tests: K22
TEST(Checkpoint, MixedAndFloat32ReadEachOther) {
  const TemporaryFolder folder;
  const ImageSets images = generated_images(28, 28, 1, 8, 8);
  const auto trainer_of = [](const char* precision, uint64_t seed) {
    ModelOptions model;
    model.batch_size = 4;
    model.precision = Precision::parse(precision);
    TrainerOptions options;
    options.executor.seed = seed;
    return std::make_unique<Trainer>(build_model(small_cnn(), model), options);
  };
  const auto mixed = trainer_of("mixed", 1), single = trainer_of("float32", 2);
  const int64_t indices[] = {0, 1, 2, 3};
  std::vector<Batch> batches;
  batches.push_back({normalise(images.train, indices, DType::kFloat16), labels_of(images.train, indices)});
  mixed->step(batches);
  save_checkpoint({"{}", "{}", mixed->state()}, folder.file("mixed.npz"));
  single->set_state(load_checkpoint(folder.file("mixed.npz")).state);
  for (const VariableSpec& v : mixed->model().variables)
    EXPECT_TRUE(single->variable(v.name).same_bits(mixed->variable(v.name))) << v.name;
  EXPECT_EQ(single->state().step, 1);
}

}  // namespace
}  // namespace softamp
