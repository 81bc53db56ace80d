package io.waybill.replay.run;

import java.io.Closeable;
import java.io.IOException;
import java.util.List;

/** Closes all contenders, and tells the first error. */
public record Contenders(List<Contender> all) implements Closeable {

    @Override
    public void close() throws IOException {
        IOException first = null;
        for (Contender contender : all) {
            try {
                contender.close();
            } catch (IOException e) {
                if (first == null) {
                    first = e;
                } else {
                    first.addSuppressed(e);
                }
            }
        }
        if (first != null) {
            throw first;
        }
    }
}
