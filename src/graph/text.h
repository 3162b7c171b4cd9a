// The text form of a graph: one line per input, weight, node and output. print and parse are inverse.
//
//   graph tiny
//   input ids : i32[tokens,1]
//   weight embed.weight [256,64]
//   %x = embed(%ids) {embed.weight} : f32[tokens,64]
//   %h = matmul(%x) {fc.weight, fc.bias} activation=gelu : f32[tokens,128]
//   output %h
//
// `#` starts a comment that runs to the end of its line.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"

namespace tegula::graph {

std::string print(const Graph& graph);
std::string print(const Graph& graph, const Node& node);  // one line, without newline

// Errors give the line number. The result passes verify().
Result<Graph> parse(std::string_view text);

}  // namespace tegula::graph
