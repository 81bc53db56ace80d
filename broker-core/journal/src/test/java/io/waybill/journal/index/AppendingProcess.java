package io.waybill.journal.index;

import io.waybill.journal.JournalQueue;
import io.waybill.journal.WrittenQueue;
import java.nio.file.Path;

/** Appends requests until it is killed, and says after each hundred how many there are. */
final class AppendingProcess {

    private AppendingProcess() {}

    public static void main(String[] args) {
        try (WrittenQueue queue = WrittenQueue.open(Path.of(args[0]), JournalQueue.REQUESTS)) {
            for (long counter = 0; ; counter += 100) {
                queue.requests(counter, counter + 100);
                System.out.println(counter + 100);
                System.out.flush();
            }
        }
    }
}
