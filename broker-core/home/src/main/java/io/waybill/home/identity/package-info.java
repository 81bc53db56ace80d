/**
 * Identity of a home and its workers among several hosts: the home's host name and range of worker ids, and how a
 * worker is reached. Start at {@link io.waybill.home.identity.HomeIdentity}.
 */
package io.waybill.home.identity;
