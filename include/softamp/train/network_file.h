// Networks as data: a JSON file with the input, the output, the loss and the layers. docs/NETWORKS.md describes it; the
// networks of models.h are such files, too (`softamp train --print-network resnet8`).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "softamp/train/models.h"

namespace softamp {

/// The network that a JSON text describes. `place` begins every error: "net.json: layers[3] (dense): 'unit' is no
/// option of dense; expected units, ...; nearest: units". Throws std::invalid_argument: no JSON, another version, an
/// unknown kind, layer or option with the nearest name, a value out of its range, more than 4,000 layers after
/// `repeat`, attention over more than 2^30 pairs of places together. What only shapes tell (a layer that does not fit
/// its input, outputs that do not fit the kind of output) is a GraphError of NetworkInfo::build with the layer's place,
/// when a model is built.
NetworkInfo parse_network(std::string_view json, std::string_view place = "network");

/// The same of a file, of at most 4 MiB. Throws also std::invalid_argument for one that cannot be read.
NetworkInfo load_network(const std::filesystem::path& file);

/// Whether the text names a file, and no network of models.h: it has a '/', or ends in ".json".
bool names_network_file(std::string_view text);

/// Kinds of layers with their options, as docs/NETWORKS.md lists them: a table in Markdown.
std::string network_layers_markdown();

}  // namespace softamp
