/*
 * Runs a program and fails chosen system calls of it.
 *
 *     syscall-faults DIRECTORY PROGRAM ARGUMENT...
 *
 * The program keeps this process and its id. A second process supervises it: a seccomp filter stops each of the calls
 * in the table below until that process says whether it goes on or fails. So a call is seen whatever library makes it: the JDK,
 * a library, libc itself, or a raw syscall().
 *
 * While DIRECTORY/rule does not exist all calls go on. It is one line of words; renaming a new one into place starts a
 * new count:
 *
 *     CALL [nth=N] [errno=E] [from] [under=PATH] [match=PATTERN] [file=K]
 *
 * CALL is a name of the table, or "any". Calls are counted from 1 for each name, those of files only if their path lies
 * below PATH and matches PATTERN (fnmatch; * matches / too), and, with K, if it is the K-th such path. The N-th fails
 * with E, with "from" all after it, too; with N = 0 (the default) none does. Anonymous mappings are not stopped.
 *
 * DIRECTORY/log has a line for each counted call: name, number, path or -, and "failed" if it did.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

/* Where the path of a call is. */
enum place { NO_PATH, AT_FD, AT_PATH_0, AT_DIR_0_PATH_1, AT_PATH_1, AT_DIR_2_PATH_3, AT_FD_4 };

struct call {
    int number;
    const char *name;
    enum place place;
};

static const struct call CALLS[] = {
    {SYS_open, "open", AT_PATH_0},
    {SYS_creat, "open", AT_PATH_0},
    {SYS_openat, "open", AT_DIR_0_PATH_1},
    {SYS_openat2, "open", AT_DIR_0_PATH_1},
    {SYS_fallocate, "fallocate", AT_FD},
    {SYS_truncate, "ftruncate", AT_PATH_0},
    {SYS_ftruncate, "ftruncate", AT_FD},
    {SYS_rename, "rename", AT_PATH_1},
    {SYS_renameat, "rename", AT_DIR_2_PATH_3},
    {SYS_renameat2, "rename", AT_DIR_2_PATH_3},
    {SYS_unlink, "unlink", AT_PATH_0},
    {SYS_unlinkat, "unlink", AT_DIR_0_PATH_1},
    {SYS_rmdir, "unlink", AT_PATH_0},
    {SYS_mkdir, "mkdir", AT_PATH_0},
    {SYS_mkdirat, "mkdir", AT_DIR_0_PATH_1},
    {SYS_link, "link", AT_PATH_1},
    {SYS_linkat, "link", AT_DIR_2_PATH_3},
    {SYS_mmap, "mmap", AT_FD_4},
    {SYS_pread64, "pread", AT_FD},
    {SYS_pwrite64, "pwrite", AT_FD},
    {SYS_write, "write", AT_FD},
    {SYS_fdatasync, "fdatasync", AT_FD},
    {SYS_fsync, "fsync", AT_FD},
    {SYS_clone, "clone", NO_PATH},
    {SYS_clone3, "clone", NO_PATH},
};
enum { CALL_COUNT = sizeof(CALLS) / sizeof(CALLS[0]), MAX_FILES = 256 };

static struct {
    int armed;
    struct stat seen;
    char text[4 * PATH_MAX];
    char call[32];
    long nth;
    int error, from, file;
    char under[PATH_MAX];
    char match[PATH_MAX];
    long counts[CALL_COUNT]; /* at the first entry of a name */
    char *files[MAX_FILES];  /* distinct paths, in order */
    int fileCount;
} rule;

static char rulePath[PATH_MAX], logPath[PATH_MAX];
static int logFile = -1;

static void die(const char *what)
{
    fprintf(stderr, "syscall-faults: %s: %s\n", what, strerror(errno));
    _exit(126);
}

/* ---- the rule */

static void parse(void)
{
    char *rest = rule.text;
    char *word = strtok_r(rest, " \n", &rest);
    snprintf(rule.call, sizeof(rule.call), "%s", word ? word : "");
    while ((word = strtok_r(NULL, " \n", &rest)) != NULL) {
        if (strcmp(word, "from") == 0) {
            rule.from = 1;
        } else if (strncmp(word, "nth=", 4) == 0) {
            rule.nth = atol(word + 4);
        } else if (strncmp(word, "errno=", 6) == 0) {
            rule.error = atoi(word + 6);
        } else if (strncmp(word, "under=", 6) == 0) {
            snprintf(rule.under, sizeof(rule.under), "%s", word + 6);
        } else if (strncmp(word, "match=", 6) == 0) {
            snprintf(rule.match, sizeof(rule.match), "%s", word + 6);
        } else if (strncmp(word, "file=", 5) == 0) {
            rule.file = atoi(word + 5);
        } else {
            dprintf(logFile, "unknown word: %s\n", word);
        }
    }
}

/* Follows the file of the rule. */
static void refreshRule(void)
{
    struct stat now;
    if (stat(rulePath, &now) != 0) {
        rule.armed = 0;
        return;
    }
    if (rule.armed && now.st_ino == rule.seen.st_ino && now.st_mtim.tv_sec == rule.seen.st_mtim.tv_sec
        && now.st_mtim.tv_nsec == rule.seen.st_mtim.tv_nsec) {
        return;
    }
    int file = open(rulePath, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return;
    }
    for (int i = 0; i < rule.fileCount; i++) {
        free(rule.files[i]);
    }
    memset(&rule, 0, sizeof(rule));
    ssize_t length = read(file, rule.text, sizeof(rule.text) - 1);
    close(file);
    rule.seen = now;
    rule.armed = length > 0;
    if (logFile >= 0) {
        close(logFile);
    }
    logFile = open(logPath, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    parse();
}

/* ---- the path of a call */

static int textOf(pid_t task, unsigned long long address, char *text)
{
    size_t read = 0;
    text[0] = 0;
    while (read < PATH_MAX - 1) { /* by pages: the next one may not be mapped */
        size_t step = 4096 - ((address + read) & 4095);
        if (step > PATH_MAX - 1 - read) {
            step = PATH_MAX - 1 - read;
        }
        struct iovec local = {text + read, step};
        struct iovec remote = {(void *) (address + read), step};
        ssize_t got = process_vm_readv(task, &local, 1, &remote, 1, 0);
        if (got <= 0) {
            return 0;
        }
        if (memchr(text + read, 0, got) != NULL) {
            return 1;
        }
        read += got;
    }
    return 0;
}

static void fileOf(pid_t task, int descriptor, char *path)
{
    char link[64];
    snprintf(link, sizeof(link), descriptor == AT_FDCWD ? "/proc/%d/cwd" : "/proc/%d/fd/%d", task, descriptor);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
}

/* Makes a path absolute, without links in its directory and without the program's own descriptors. */
static void resolve(pid_t task, int directory, const char *given, char *path)
{
    char joined[2 * PATH_MAX + 32];
    int descriptor, end = 0;
    if (sscanf(given, "/proc/self/fd/%d%n", &descriptor, &end) == 1 && end > 0) {
        fileOf(task, descriptor, path);
        snprintf(joined, sizeof(joined), "%s%s", path, given + end);
    } else if (given[0] == '/') {
        snprintf(joined, sizeof(joined), "%s", given);
    } else {
        fileOf(task, directory, path);
        snprintf(joined, sizeof(joined), "%s/%s", path, given);
    }
    char *name = strrchr(joined, '/');
    char real[PATH_MAX];
    if (name == NULL || name == joined) {
        snprintf(path, PATH_MAX, "%.*s", PATH_MAX - 1, joined);
        return;
    }
    *name = 0;
    snprintf(path, PATH_MAX, "%.*s/%.*s", PATH_MAX - 300, realpath(joined, real) ? real : joined, 255, name + 1);
}

static void pathOf(const struct call *call, const struct seccomp_notif *request, char *path)
{
    char given[PATH_MAX];
    const __u64 *argument = request->data.args;
    int textAt = -1, directory = AT_FDCWD;
    path[0] = 0;
    switch (call->place) {
    case NO_PATH: return;
    case AT_FD: fileOf(request->pid, (int) argument[0], path); return;
    case AT_FD_4: fileOf(request->pid, (int) argument[4], path); return;
    case AT_PATH_0: textAt = 0; break;
    case AT_PATH_1: textAt = 1; break;
    case AT_DIR_0_PATH_1: textAt = 1; directory = (int) argument[0]; break;
    case AT_DIR_2_PATH_3: textAt = 3; directory = (int) argument[2]; break;
    }
    if (textOf(request->pid, argument[textAt], given)) {
        resolve(request->pid, directory, given, path);
    }
}

/* ---- which calls fail */

static int isInPlace(const char *path)
{
    size_t length = strlen(rule.under);
    if (strncmp(path, rule.under, length) != 0 || (length > 0 && path[length] != '/' && path[length] != 0)) {
        return 0;
    }
    if (rule.match[0] != 0 && fnmatch(rule.match, path, 0) != 0) {
        return 0;
    }
    int known = 0;
    while (known < rule.fileCount && strcmp(rule.files[known], path) != 0) {
        known++;
    }
    if (known == rule.fileCount && known < MAX_FILES) {
        rule.files[rule.fileCount++] = strdup(path);
    }
    return rule.file == 0 || rule.file == known + 1;
}

/* Returns the error of the call; 0 when it goes on. */
static int errorOf(const struct seccomp_notif *request)
{
    int at = 0;
    while (at < CALL_COUNT && CALLS[at].number != request->data.nr) {
        at++;
    }
    if (at == CALL_COUNT) {
        return 0;
    }
    refreshRule();
    if (!rule.armed || (strcmp(rule.call, "any") != 0 && strcmp(rule.call, CALLS[at].name) != 0)) {
        return 0;
    }
    char path[PATH_MAX];
    pathOf(&CALLS[at], request, path);
    if (CALLS[at].place != NO_PATH && !isInPlace(path)) {
        return 0;
    }
    int first = 0;
    while (strcmp(CALLS[first].name, CALLS[at].name) != 0) {
        first++;
    }
    long count = ++rule.counts[first];
    int fails = rule.nth > 0 && (count == rule.nth || (rule.from && count > rule.nth));
    dprintf(logFile, "%s %ld %s%s\n", CALLS[at].name, count, path[0] ? path : "-", fails ? " failed" : "");
    return fails ? rule.error : 0;
}

static void supervise(int listener)
{
    struct seccomp_notif request;
    struct pollfd calls = {.fd = listener, .events = POLLIN};
    while (1) {
        if (poll(&calls, 1, -1) < 0 && errno != EINTR) {
            _exit(124);
        }
        if (calls.revents & (POLLHUP | POLLERR)) {
            _exit(0); /* the program and its children have ended */
        }
        memset(&request, 0, sizeof(request));
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) != 0) {
            continue; /* its thread was ended */
        }
        struct seccomp_notif_resp response = {.id = request.id};
        int error = errorOf(&request);
        response.error = -error;
        response.flags = error == 0 ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response);
    }
}

/* ---- start */

static int installFilter(void)
{
    struct sock_filter filter[CALL_COUNT * 2 + 16];
    unsigned short n = 0;
#define ADD(...) filter[n++] = (struct sock_filter) __VA_ARGS__
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)));
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0));
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
    ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 4));
    ADD(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])));
    ADD(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_ANONYMOUS, 0, 1));
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
    for (int i = 0; i < CALL_COUNT; i++) {
        ADD(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CALLS[i].number, 0, 1));
        ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
    }
    ADD(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    struct sock_fprog program = {n, filter};
    unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    int listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
    if (listener < 0 && errno == EINVAL) { /* before Linux 5.19: a signal makes a call be seen twice */
        listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
    }
    return listener;
}

/* Takes the listener from the program, which sends its number and waits for a byte. */
static void superviseParent(int channel)
{
    int number;
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    int parent = syscall(SYS_pidfd_open, getppid(), 0);
    setsid();
    if (nothing < 0 || parent < 0 || recv(channel, &number, sizeof(number), MSG_WAITALL) != sizeof(number)) {
        die("starting the supervisor");
    }
    int listener = syscall(SYS_pidfd_getfd, parent, number, 0);
    if (listener < 0 || send(channel, "", 1, 0) != 1) {
        die("taking the listener");
    }
    for (int standard = 0; standard < 3; standard++) {
        dup2(nothing, standard);
    }
    close(channel);
    supervise(listener);
}

int main(int count, char **arguments)
{
    int channel[2];
    if (count < 3) {
        fprintf(stderr, "usage: syscall-faults DIRECTORY PROGRAM ARGUMENT...\n");
        return 2;
    }
    snprintf(rulePath, sizeof(rulePath), "%s/rule", arguments[1]);
    snprintf(logPath, sizeof(logPath), "%s/log", arguments[1]);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) != 0) {
        die("socketpair");
    }
    pid_t supervisor = fork();
    if (supervisor == 0) {
        close(channel[0]);
        superviseParent(channel[1]);
    }
    close(channel[1]);
    prctl(PR_SET_PTRACER, supervisor, 0, 0, 0); /* fails without Yama, where it is not needed */
    if (supervisor < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        die("starting the supervisor");
    }
    int listener = installFilter();
    char byte;
    /* from here until the byte comes no call of the table: it would wait for the supervisor */
    if (listener < 0 || send(channel[0], &listener, sizeof(listener), 0) != sizeof(listener)
        || recv(channel[0], &byte, 1, 0) != 1) {
        die("installing the filter");
    }
    close(listener);
    close(channel[0]);
    execvp(arguments[2], arguments + 2);
    die(arguments[2]);
}
