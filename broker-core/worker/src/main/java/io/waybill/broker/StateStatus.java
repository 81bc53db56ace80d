package io.waybill.broker;

import io.waybill.api.state.StateUsage;

/** Size of the state that an owner has in one store. */
public record StateStatus(String owner, String store, StateUsage usage) {}
