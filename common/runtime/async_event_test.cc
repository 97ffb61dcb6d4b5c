#include "common/runtime/async_event.h"

#include <gtest/gtest.h>

namespace rb {
namespace {

Task<void> CountWakes(AsyncEvent& event, int times, int* wakes) {
  for (int i = 0; i < times; ++i) {
    co_await event.Wait();
    ++*wakes;
  }
}

TEST(AsyncEventTest, OneNotificationWakesEveryWaiterOnce) {
  Loop loop;
  AsyncEvent event(loop);
  int wakes = 0;
  loop.Spawn(CountWakes(event, 1, &wakes));
  loop.Spawn(CountWakes(event, 1, &wakes));
  loop.Post([&] { event.NotifyAll(); });

  loop.Run();

  EXPECT_EQ(wakes, 2);
}

TEST(AsyncEventTest, CanBeUsedAgain) {
  Loop loop;
  AsyncEvent event(loop);
  int wakes = 0;
  loop.Spawn(CountWakes(event, 2, &wakes));
  loop.Post([&] {
    event.NotifyAll();
    loop.Post([&] { event.NotifyAll(); });
  });

  loop.Run();

  EXPECT_EQ(wakes, 2);
}

TEST(AsyncEventTest, ANotificationWithoutAWaiterIsLost) {
  Loop loop;
  AsyncEvent event(loop);
  int wakes = 0;

  event.NotifyAll();
  loop.Spawn(CountWakes(event, 1, &wakes));
  loop.Post([&] { loop.Stop(); });
  loop.Run();

  EXPECT_EQ(wakes, 0);
}

}  // namespace
}  // namespace rb
