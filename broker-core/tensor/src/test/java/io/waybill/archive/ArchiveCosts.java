package io.waybill.archive;

import static io.waybill.archive.WrittenArchive.QUEUE_FILE;

import io.waybill.journal.JournalQueue;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;

/** What it takes to write many records into an archive file, and to find one of them. Argument: how many, in thousands. */
final class ArchiveCosts {

    private static final int BYTES = 512;
    private static final int LOOKUPS = 1000;

    private ArchiveCosts() {}

    public static void main(String[] arguments) throws IOException {
        int count = 1000 * Integer.parseInt(arguments[0]);
        Path directory = Files.createTempDirectory("archive-costs");
        try (WrittenArchive archive = new WrittenArchive(directory)) {
            byte[] bytes = new byte[BYTES];
            long startNs = System.nanoTime();
            for (int i = 0; i < count; i++) {
                archive.append(i, 0, bytes);
            }
            System.out.printf("write    %,d ns a storage of %d bytes%n", (System.nanoTime() - startNs) / count, BYTES);
            look(archive, count);
        } finally {
            Files.delete(directory.resolve("archive/requests").resolve(ArchiveLayout.fileName(QUEUE_FILE)));
        }
    }

    private static void look(WrittenArchive archive, int count) throws IOException {
        Random random = new Random(1);
        try (ArchiveReader reader = archive.reader()) {
            long startNs = System.nanoTime();
            reader.find(JournalQueue.REQUESTS, QUEUE_FILE, count / 3, 0);
            System.out.printf("first    %,d us, with the file opened%n", (System.nanoTime() - startNs) / 1000);
            startNs = System.nanoTime();
            for (int i = 0; i < LOOKUPS; i++) {
                reader.find(JournalQueue.REQUESTS, QUEUE_FILE, random.nextInt(count), 0);
            }
            System.out.printf("others   %,d ns%n", (System.nanoTime() - startNs) / LOOKUPS);
            startNs = System.nanoTime();
            reader.find(JournalQueue.REQUESTS, QUEUE_FILE, count, 0);
            System.out.printf("none     %,d us, with why%n", (System.nanoTime() - startNs) / 1000);
        }
    }
}
