/* SPDX-License-Identifier: Apache-2.0
 * ort/graph_texts.h - the models of ort/graph_read_test.c as Microsoft's library tells them (ort/graph_dump.h). */
#ifndef OX_TESTS_ORT_GRAPH_TEXTS_H
#define OX_TESTS_ORT_GRAPH_TEXTS_H

static const char branches[] =
    "ir 8 path 'model.onnx' '' 17\n"
    "metadata '' 'g' '' '' '' 1 0 ''\n"
    "graph g\n"
    "input c tensor:9[] required uses if.0\n"
    "input x tensor:1[N,4] required uses add.0\n"
    "input unused tensor:1[3] required uses\n"
    "output y tensor:1[N,4] output from clip.0 uses shape.0\n"
    "output z tensor:7[A,4] output from fill.0 uses\n"
    "initializer low tensor:1[] constant uses clip.2 data 4 00004040\n"
    "initializer w tensor:1[4] constant uses add.1 if.-1 data 16 0000803f00000040\n"
    "node add: '' Add 14\n"
    " in x tensor:1[N,4] required uses add.0\n"
    " in w tensor:1[4] constant uses add.1 if.-1 data 16 0000803f00000040\n"
    " out a tensor:1[N,4] from add.0 uses if.-1\n"
    "node clip: '' Clip 13\n"
    " in b tensor:1[N,4] from if.0 uses clip.0\n"
    " in -\n"
    " in low tensor:1[] constant uses clip.2 data 4 00004040\n"
    " out y tensor:1[N,4] output from clip.0 uses shape.0\n"
    "node fill: '' ConstantOfShape 9\n"
    " in s tensor:7[2] from shape.0 uses fill.0\n"
    " out z tensor:7[A,4] output from fill.0 uses\n"
    " @value 8 0700000000000000\n"
    "node if: '' If 16\n"
    " in c tensor:9[] required uses if.0\n"
    " implicit a tensor:1[N,4] from add.0 uses if.-1\n"
    " implicit w tensor:1[4] constant uses add.1 if.-1 data 16 0000803f00000040\n"
    " out b tensor:1[N,4] from if.0 uses clip.0\n"
    " @else_branch 7\n"
    " @then_branch 7\n"
    " body else_branch of if\n"
    "  graph no\n"
    "  output f tensor:1[N,4] output from sub.0 uses\n"
    "  initializer v tensor:1[4] constant uses sub.1 data 16 0000a0400000c040\n"
    "  node mul: '' Mul 14\n"
    "   in a tensor:1[N,4] outer uses mul.0\n"
    "   in w tensor:1[4] constant outer uses mul.1 data 16 0000803f00000040\n"
    "   out t0 tensor:1[N,4] from mul.0 uses sub.0\n"
    "  node sub: '' Sub 14\n"
    "   in t0 tensor:1[N,4] from mul.0 uses sub.0\n"
    "   in v tensor:1[4] constant uses sub.1 data 16 0000a0400000c040\n"
    "   out f tensor:1[N,4] output from sub.0 uses\n"
    " body then_branch of if\n"
    "  graph yes\n"
    "  output t tensor:1[N,4] output from neg.0 uses\n"
    "  node neg: '' Neg 13\n"
    "   in a tensor:1[N,4] outer uses neg.0\n"
    "   out t tensor:1[N,4] output from neg.0 uses\n"
    "node shape: '' Shape 15\n"
    " in y tensor:1[N,4] output from clip.0 uses shape.0\n"
    " out s tensor:7[2] from shape.0 uses fill.0\n"
    " @start 1 0000000000000000\n";

static const char branch_yes[] =
    "ir 8 path 'model.onnx' '' 17\n"
    "metadata '' 'g' '' '' '' 1 0 ''\n"
    "graph yes\n"
    "output t tensor:1[N,4] output from neg.0 uses\n"
    "node neg: '' Neg 13\n"
    " in a tensor:1[N,4] outer uses neg.0\n"
    " out t tensor:1[N,4] output from neg.0 uses\n"
    "body of If in(c) implicit(a w) out(b)\n";

static const char branch_no[] =
    "ir 8 path 'model.onnx' '' 17\n"
    "metadata '' 'g' '' '' '' 1 0 ''\n"
    "graph no\n"
    "output f tensor:1[N,4] output from sub.0 uses\n"
    "initializer v tensor:1[4] constant uses sub.1 data 16 0000a0400000c040\n"
    "node mul: '' Mul 14\n"
    " in a tensor:1[N,4] outer uses mul.0\n"
    " in w tensor:1[4] constant outer uses mul.1 data 16 0000803f00000040\n"
    " out t0 tensor:1[N,4] from mul.0 uses sub.0\n"
    "node sub: '' Sub 14\n"
    " in t0 tensor:1[N,4] from mul.0 uses sub.0\n"
    " in v tensor:1[4] constant uses sub.1 data 16 0000a0400000c040\n"
    " out f tensor:1[N,4] output from sub.0 uses\n"
    "body of If in(c) implicit(a w) out(b)\n";

/* The nodes of the whole graph, as a view and a compiled part show them. */
#define WHOLE_NODES                                                              \
  "node add: '' Add 14\n"                                                        \
  " in x tensor:1[N,4] required uses add.0\n"                                    \
  " in w tensor:1[4] constant uses add.1 if.-1 data 16 0000803f00000040\n"       \
  " out a tensor:1[N,4] from add.0 uses if.-1\n"                                 \
  "node clip: '' Clip 13\n"                                                      \
  " in b tensor:1[N,4] from if.0 uses clip.0\n"                                  \
  " in -\n"                                                                      \
  " in low tensor:1[] constant uses clip.2 data 4 00004040\n"                    \
  " out y tensor:1[N,4] output from clip.0 uses\n"                               \
  "node if: '' If 16\n"                                                          \
  " in c tensor:9[] required uses if.0\n"                                        \
  " implicit a tensor:1[N,4] from add.0 uses if.-1\n"                            \
  " implicit w tensor:1[4] constant uses add.1 if.-1 data 16 0000803f00000040\n" \
  " out b tensor:1[N,4] from if.0 uses clip.0\n"                                 \
  " @else_branch 7\n"                                                            \
  " @then_branch 7\n"                                                            \
  " body else_branch of if\n"                                                    \
  "  graph no\n"                                                                 \
  "  output f tensor:1[N,4] output from sub.0 uses\n"                            \
  "  initializer v tensor:1[4] constant uses sub.1 data 16 0000a0400000c040\n"   \
  "  node mul: '' Mul 14\n"                                                      \
  "   in a tensor:1[N,4] outer uses mul.0\n"                                     \
  "   in w tensor:1[4] constant outer uses mul.1 data 16 0000803f00000040\n"     \
  "   out t0 tensor:1[N,4] from mul.0 uses sub.0\n"                              \
  "  node sub: '' Sub 14\n"                                                      \
  "   in t0 tensor:1[N,4] from mul.0 uses sub.0\n"                               \
  "   in v tensor:1[4] constant uses sub.1 data 16 0000a0400000c040\n"           \
  "   out f tensor:1[N,4] output from sub.0 uses\n"                              \
  " body then_branch of if\n"                                                    \
  "  graph yes\n"                                                                \
  "  output t tensor:1[N,4] output from neg.0 uses\n"                            \
  "  node neg: '' Neg 13\n"                                                      \
  "   in a tensor:1[N,4] outer uses neg.0\n"                                     \
  "   out t tensor:1[N,4] output from neg.0 uses\n"

static const char view[] =
    "graph sub_graph\n"
    "input c tensor:9[] required uses if.0\n"
    "input x tensor:1[N,4] required uses add.0\n"
    "output y tensor:1[N,4] output from clip.0 uses\n"
    "initializer low tensor:1[] constant uses clip.2 data 4 00004040\n"
    "initializer w tensor:1[4] constant uses add.1 if.-1 data 16 0000803f00000040\n" WHOLE_NODES;

static const char compiled[] =
    "graph \n"
    "input x tensor:1[N,4] required uses add.0\n"
    "input c tensor:9[] required uses if.0\n"
    "output y tensor:1[N,4] output from clip.0 uses\n"
    "initializer low tensor:1[] constant uses clip.2 data 4 00004040\n"
    "initializer w tensor:1[4] constant uses add.1 if.-1 data 16 0000803f00000040\n" WHOLE_NODES
    "fused in(x c) implicit() out(y)\n";

static const char compiled_with_constants[] =
    "graph \n"
    "input x tensor:1[N,4] required uses add.0\n"
    "input w tensor:1[4] optional constant uses add.1 if.-1 data 16 0000803f00000040\n"
    "input c tensor:9[] required uses if.0\n"
    "input low tensor:1[] optional constant uses clip.2 data 4 00004040\n"
    "output y tensor:1[N,4] output from clip.0 uses\n"
    "initializer low tensor:1[] optional constant uses clip.2 data 4 00004040\n"
    "initializer w tensor:1[4] optional constant uses add.1 if.-1 data 16 0000803f00000040\n"
    "node add: '' Add 14\n"
    " in x tensor:1[N,4] required uses add.0\n"
    " in w tensor:1[4] optional constant uses add.1 if.-1 data 16 0000803f00000040\n"
    " out a tensor:1[N,4] from add.0 uses if.-1\n"
    "node clip: '' Clip 13\n"
    " in b tensor:1[N,4] from if.0 uses clip.0\n"
    " in -\n"
    " in low tensor:1[] optional constant uses clip.2 data 4 00004040\n"
    " out y tensor:1[N,4] output from clip.0 uses\n"
    "node if: '' If 16\n"
    " in c tensor:9[] required uses if.0\n"
    " implicit a tensor:1[N,4] from add.0 uses if.-1\n"
    " implicit w tensor:1[4] optional constant uses add.1 if.-1 data 16 0000803f00000040\n"
    " out b tensor:1[N,4] from if.0 uses clip.0\n"
    " @else_branch 7\n"
    " @then_branch 7\n"
    " body else_branch of if\n"
    "  graph no\n"
    "  output f tensor:1[N,4] output from sub.0 uses\n"
    "  initializer v tensor:1[4] constant uses sub.1 data 16 0000a0400000c040\n"
    "  node mul: '' Mul 14\n"
    "   in a tensor:1[N,4] outer uses mul.0\n"
    "   in w tensor:1[4] constant outer uses mul.1 data 16 0000803f00000040\n"
    "   out t0 tensor:1[N,4] from mul.0 uses sub.0\n"
    "  node sub: '' Sub 14\n"
    "   in t0 tensor:1[N,4] from mul.0 uses sub.0\n"
    "   in v tensor:1[4] constant uses sub.1 data 16 0000a0400000c040\n"
    "   out f tensor:1[N,4] output from sub.0 uses\n"
    " body then_branch of if\n"
    "  graph yes\n"
    "  output t tensor:1[N,4] output from neg.0 uses\n"
    "  node neg: '' Neg 13\n"
    "   in a tensor:1[N,4] outer uses neg.0\n"
    "   out t tensor:1[N,4] output from neg.0 uses\n"
    "fused in(x w c low) implicit() out(y)\n";

static const char facts[] =
    "ir 8 path 'model.onnx' '' 17 'example.ops' 2\n"
    "metadata 'producer' 'g' 'domain' 'words about the model' 'words about the graph' 7 1 'value'\n"
    "graph g\n"
    "input s seq required uses at.0\n"
    "input o optional required uses\n"
    "input x tensor:1[] required uses loop.2\n"
    "input any tensor:1[]? required uses\n"
    "output y tensor:1[N] output from at.0 uses\n"
    "output z tensor:1[] output from loop.0 uses\n"
    "output u tensor:1[64] output from twice.0 uses\n"
    "initializer i tensor:7[] constant uses at.1 data 8 0000000000000000\n"
    "initializer large tensor:1[64] constant uses twice.0 twice.1 data 256 0000804200008242 file data.bin 256 256\n"
    "initializer m tensor:7[] constant uses loop.0 data 8 0300000000000000\n"
    "initializer outside tensor:1[] constant uses loop.-1 data 4 0000a040\n"
    "initializer t tensor:9[] constant uses loop.1 data 1 01\n"
    "node at: '' SequenceAt 11\n"
    " in s seq required uses at.0\n"
    " in i tensor:7[] constant uses at.1 data 8 0000000000000000\n"
    " out y tensor:1[N] output from at.0 uses\n"
    "node loop: '' Loop 16\n"
    " in m tensor:7[] constant uses loop.0 data 8 0300000000000000\n"
    " in t tensor:9[] constant uses loop.1 data 1 01\n"
    " in x tensor:1[] required uses loop.2\n"
    " implicit outside tensor:1[] constant uses loop.-1 data 4 0000a040\n"
    " out z tensor:1[] output from loop.0 uses\n"
    " @body 7\n"
    " body body of loop\n"
    "  graph body of the loop\n"
    "  input turn tensor:7[] required uses\n"
    "  input go tensor:9[] required uses id.0\n"
    "  input sum tensor:1[] required uses more.0\n"
    "  output again tensor:9[] output from id.0 uses\n"
    "  output next tensor:1[] output from more.0 uses\n"
    "  node id: '' Identity 16\n"
    "   in go tensor:9[] required uses id.0\n"
    "   out again tensor:9[] output from id.0 uses\n"
    "  node more: '' Add 14\n"
    "   in sum tensor:1[] required uses more.0\n"
    "   in outside tensor:1[] constant outer uses more.1 data 4 0000a040\n"
    "   out next tensor:1[] output from more.0 uses\n"
    "node twice: '' Add 14\n"
    " in large tensor:1[64] constant uses twice.0 twice.1 data 256 0000804200008242 file data.bin 256 256\n"
    " in large tensor:1[64] constant uses twice.0 twice.1 data 256 0000804200008242 file data.bin 256 256\n"
    " out u tensor:1[64] output from twice.0 uses\n";

static const char loop_body[] =
    "ir 8 path 'model.onnx' '' 17 'example.ops' 2\n"
    "metadata 'producer' 'g' 'domain' 'words about the model' 'words about the graph' 7 1 'value'\n"
    "graph body of the loop\n"
    "input turn tensor:7[] required uses\n"
    "input go tensor:9[] required uses id.0\n"
    "input sum tensor:1[] required uses more.0\n"
    "output again tensor:9[] output from id.0 uses\n"
    "output next tensor:1[] output from more.0 uses\n"
    "node id: '' Identity 16\n"
    " in go tensor:9[] required uses id.0\n"
    " out again tensor:9[] output from id.0 uses\n"
    "node more: '' Add 14\n"
    " in sum tensor:1[] required uses more.0\n"
    " in outside tensor:1[] constant outer uses more.1 data 4 0000a040\n"
    " out next tensor:1[] output from more.0 uses\n"
    "body of Loop in(m t x) implicit(outside) out(z)\n";

/* Codes for arrays without room, and for what is not there. */
static const char refused[] =
    "Graph_GetOperatorSets 2\n"
    "Graph_GetInputs 2\n"
    "Graph_GetOutputs 2\n"
    "Graph_GetInitializers 2\n"
    "Graph_GetNodes 2\n"
    "Node_GetInputs 2\n"
    "Node_GetOutputs 2\n"
    "Node_GetImplicitInputs 2\n"
    "Node_GetAttributes 2\n"
    "Node_GetSubgraphs 2\n"
    "Node_GetAttributeByName 14\n"
    "ValueInfo_GetValueConsumers 2\n";

#endif
