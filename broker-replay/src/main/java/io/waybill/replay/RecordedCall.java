package io.waybill.replay;

import java.util.Optional;

/**
 * A request, and the answer on record.
 *
 * @param response empty when the recording has none
 */
public record RecordedCall(long id, RecordedMessage request, Optional<RecordedMessage> response) {}
