/**
 * {@code waybill doctor}: what Waybill needs of this machine, and whether it is there.
 *
 * <h2>Starting points</h2>
 * <ul>
 *   <li>{@link io.waybill.cli.doctor.DoctorCommand} asks one class for each part of the machine
 *   <li>{@link io.waybill.cli.doctor.Diagnoses} are what they find
 * </ul>
 */
package io.waybill.cli.doctor;
