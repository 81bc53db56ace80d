package io.waybill.journal.append;

import java.nio.file.Path;

/**
 * Extent to which a queue is written.
 *
 * @param start position of the last record in its file, which has this length; the length is 0 when nothing was
 * appended to the file
 */
public record Written(Path file, long position, long start, int length, long endIndex, long nextSequence) {}
