package io.waybill.host;

import static org.assertj.core.api.Assertions.assertThat;

import jnr.constants.platform.Errno;
import jnr.constants.platform.OpenFlags;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The numbers of flags and errors that are written out, by the table of jnr-constants for this machine. */
@Timeout(60)
class LinuxNumbersTest {

    @Test
    void flagsOfOpenAreThoseOfThisMachine() {
        assertThat(NativeCalls.O_RDONLY).as("O_RDONLY").isEqualTo(OpenFlags.O_RDONLY.intValue());
        assertThat(NativeCalls.O_WRONLY).as("O_WRONLY").isEqualTo(OpenFlags.O_WRONLY.intValue());
        assertThat(NativeCalls.O_RDWR).as("O_RDWR").isEqualTo(OpenFlags.O_RDWR.intValue());
        assertThat(NativeCalls.O_CREAT).as("O_CREAT").isEqualTo(OpenFlags.O_CREAT.intValue());
        assertThat(NativeCalls.O_EXCL).as("O_EXCL").isEqualTo(OpenFlags.O_EXCL.intValue());
        assertThat(NativeCalls.O_NONBLOCK).as("O_NONBLOCK").isEqualTo(OpenFlags.O_NONBLOCK.intValue());
        assertThat(NativeCalls.O_CLOEXEC).as("O_CLOEXEC").isEqualTo(OpenFlags.O_CLOEXEC.intValue());
        assertThat(NativeCalls.O_NOFOLLOW).as("O_NOFOLLOW").isEqualTo(OpenFlags.O_NOFOLLOW.intValue());
        assertThat(NativeCalls.O_DIRECTORY).as("O_DIRECTORY").isEqualTo(OpenFlags.O_DIRECTORY.intValue());
    }

    @Test
    void errorsAreThoseOfThisMachine() {
        assertThat(LibC.ENOENT).as("ENOENT").isEqualTo(Errno.ENOENT.intValue());
        assertThat(LibC.EINTR).as("EINTR").isEqualTo(Errno.EINTR.intValue());
        assertThat(LibC.ENXIO).as("ENXIO").isEqualTo(Errno.ENXIO.intValue());
        assertThat(LibC.EAGAIN).as("EAGAIN").isEqualTo(Errno.EAGAIN.intValue());
        assertThat(LibC.EAGAIN).as("EWOULDBLOCK").isEqualTo(Errno.EWOULDBLOCK.intValue());
        assertThat(LibC.EEXIST).as("EEXIST").isEqualTo(Errno.EEXIST.intValue());
        assertThat(LibC.EINVAL).as("EINVAL").isEqualTo(Errno.EINVAL.intValue());
        assertThat(LibC.EPIPE).as("EPIPE").isEqualTo(Errno.EPIPE.intValue());
    }
}
