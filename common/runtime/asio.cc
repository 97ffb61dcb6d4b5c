// The bodies of Asio's non-template functions (BOOST_ASIO_SEPARATE_COMPILATION): once, here.
#include <boost/asio/impl/src.hpp>
