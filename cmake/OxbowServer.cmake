# Boost.Asio and Boost.Beast are headers; only request_reader, connection, listener and server of src/server see
# them. nlohmann-json for bodies.
find_package(Boost 1.81 REQUIRED)
find_package(nlohmann_json REQUIRED)
target_link_libraries(oxbow_server PRIVATE Boost::headers nlohmann_json::nlohmann_json)
