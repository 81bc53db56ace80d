/**
 * Remote references: who owns a value, who holds a fork of it, and the messages that keep the two in step.
 *
 * <p>This is the protocol alone. It sends through a {@link io.waybill.rref.control.ControlTransport}, reads the time from a
 * {@link io.waybill.host.Clock}, starts no thread and opens no file, so that several workers of it run in one thread of a test. What a
 * value is made of does not matter here: an owner holds a {@link io.waybill.rref.OwnedValue}, which is broker's memory and never an
 * object of a bundle's class loader.
 *
 * <p>Two guarantees hold, as in PyTorch. G1: an owner is told when a fork is gone. G2: a fork is not given back before the owner knows
 * every fork that was made of it. So a value is there for as long as anybody can reach it.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.rref.References} is all references of one worker; {@link io.waybill.rref.Creations} makes them and
 *       {@link io.waybill.rref.Forks} sends and receives them
 *   <li>{@code Owners} (with {@code OwnerTable} and {@code OwnerReads}) and {@code Users} are its two halves,
 *       {@code ControlSends} what it says to others
 *   <li>{@link io.waybill.rref.id.ForkData} is what travels when a reference is an argument
 * </ul>
 */
package io.waybill.rref;
