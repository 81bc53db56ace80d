package io.waybill.autograd.context;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The ids that were added last, against a set of the JDK. */
class ReleasedIdsTest {

    private static final int MAX = 256;

    @Test
    void keepsThoseThatWereAddedLast() {
        for (int seed = 0; seed < 20; seed++) {
            Random random = new Random(seed);
            ReleasedIds ids = new ReleasedIds(MAX);
            Set<Long> expected = new LinkedHashSet<>();
            for (int i = 0; i < 2_000; i++) {
                long id = (long) random.nextInt(3) << 48 | random.nextInt(seed % 2 == 0 ? 600 : Integer.MAX_VALUE);
                if (expected.add(id) && expected.size() > MAX) {
                    expected.remove(expected.iterator().next());
                }
                ids.add(id);
                assertThat(ids.size()).isEqualTo(expected.size());
                assertThat(ids.contains(id)).isTrue();
                long other = (long) random.nextInt(3) << 48 | random.nextInt(600);
                assertThat(ids.contains(other))
                        .as("seed %d, step %d, whether %d is there", seed, i, other)
                        .isEqualTo(expected.contains(other));
            }
            assertThat(ids.all()).as("seed %d", seed).isEqualTo(new ArrayList<>(expected));
            assertThat(expected).as("seed %d", seed).allMatch(ids::contains);
        }
    }
}
