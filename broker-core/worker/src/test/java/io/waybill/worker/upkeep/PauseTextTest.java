package io.waybill.worker.upkeep;

import static org.assertj.core.api.Assertions.assertThat;

import io.waybill.host.Host;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, unit = TimeUnit.SECONDS)
class PauseTextTest {

    @Test
    void namesTheGarbageCollectionThatTookTheTime() {
        assertThat(PauseText.of(4000, 3900))
                .isEqualTo(
                        "This process did not run for 4000 ms: its JVM collected garbage for 3900 ms; give it more heap"
                                + " (-Xmx), or keep fewer objects alive");
    }

    @Test
    void doesNotBlameACollectionThatWasShort() {
        assertThat(PauseText.of(4000, 12)).contains("its host was suspended").doesNotContain("garbage");
    }

    @Test
    void countsTheCollectionsOfThisJvm() {
        long beforeMs = Host.real().processes().collectedMs();
        long collected;
        do {
            System.gc();
            collected = Host.real().processes().collectedMs() - beforeMs;
        } while (collected == 0);
        assertThat(collected).isPositive();
    }
}
