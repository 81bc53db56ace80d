package io.waybill.broker;

import io.waybill.api.state.StateUsage;

/** How much state an owner has in one store. */
public record StateStatus(String owner, String store, StateUsage usage) {}
