# The protobuf compiler's C++ for src/precision/graph_def/graph_def.proto, among the library's own sources: what links to the
# installed library needs protobuf's library, not its compiler. Others include it as "src/precision/graph_def/graph_def.pb.h".

set(graph_def_proto "${PROJECT_SOURCE_DIR}/src/precision/graph_def/graph_def.proto")
set(graph_def_folder "${PROJECT_BINARY_DIR}/generated")
set(graph_def_code "${graph_def_folder}/src/precision/graph_def/graph_def.pb.cc" "${graph_def_folder}/src/precision/graph_def/graph_def.pb.h")
file(MAKE_DIRECTORY "${graph_def_folder}")
add_custom_command(OUTPUT ${graph_def_code}
  COMMAND protobuf::protoc "--proto_path=${PROJECT_SOURCE_DIR}" "--cpp_out=${graph_def_folder}" "${graph_def_proto}"
  DEPENDS "${graph_def_proto}" VERBATIM COMMENT "protoc src/precision/graph_def/graph_def.proto")
# Generated code is not ours to mend: no warnings. Only it and what reads GraphDefs see the generated header.
set_source_files_properties(${graph_def_code} PROPERTIES GENERATED TRUE COMPILE_OPTIONS "-w;$<$<CONFIG:Release>:-Og>")
target_sources(softamp_softamp PRIVATE ${graph_def_code})
target_include_directories(softamp_softamp SYSTEM PRIVATE "${graph_def_folder}" "${Protobuf_INCLUDE_DIRS}")
target_link_libraries(softamp_softamp PRIVATE protobuf::libprotobuf re2)
