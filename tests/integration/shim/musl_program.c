/* A program on another C library: copies a file to standard output, through the calls that the shim
 * hooks. Built with musl-gcc where there is one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, strerror(errno));
  return 1;
}

int main(int argc, char **argv) {
  struct stat status;
  char buffer[256];
  if (argc != 2 || stat(argv[1], &status) != 0) return fail("stat");
  int fd = open(argv[1], O_RDONLY);
  int copy = fcntl(fd, F_DUPFD_CLOEXEC, 50);
  if (fd < 0 || copy != 50 || close(fd) != 0) return fail("open");

  pid_t child = fork();
  if (child == 0) _exit(stat("/dev/infiniband/uverbs0", &status) == -1 && errno == ENOENT ? 0 : 1);
  int code = 0;
  if (waitpid(child, &code, 0) != child || code != 0) return fail("a device that is not leased");

  ssize_t got = read(copy, buffer, sizeof(buffer));
  if (got < 0 || write(STDOUT_FILENO, buffer, (size_t)got) != got) return fail("copy");
  return close(copy) == 0 ? 0 : fail("close");
}
