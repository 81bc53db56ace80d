package io.waybill.crash.agent;

import io.waybill.crash.agent.Change.Where;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;

/** Applies changes to a class. One thread, once. */
final class Rewriting extends ClassVisitor {

    private static final String MUTATIONS = "io/waybill/crash/agent/Mutations";

    private final String owner;
    private final List<Change> changes;
    private final Set<Change> applied = new HashSet<>();

    private Rewriting(ClassWriter writer, String owner, List<Change> changes) {
        super(Opcodes.ASM9, writer);
        this.owner = owner;
        this.changes = changes;
    }

    /**
     * The class with the changes that are meant for it.
     *
     * @throws IllegalStateException when the place of one is not there
     */
    static byte[] apply(byte[] original, String owner, List<Change> all) {
        List<Change> mine = all.stream().filter(change -> change.isIn(owner)).toList();
        ClassReader reader = new ClassReader(original);
        ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
        Rewriting rewriting = new Rewriting(writer, owner, mine);
        reader.accept(rewriting, 0);
        if (rewriting.applied.size() != mine.size()) {
            throw new IllegalStateException(owner + " has no place for all of " + mine);
        }
        return writer.toByteArray();
    }

    @Override
    public MethodVisitor visitMethod(int access, String name, String descriptor, String signature, String[] thrown) {
        MethodVisitor visitor = super.visitMethod(access, name, descriptor, signature, thrown);
        for (Change change : changes) {
            if (change.method().equals(name)) {
                visitor = new Changing(visitor, change);
            }
        }
        return visitor;
    }

    private final class Changing extends MethodVisitor {
        private final Change change;

        Changing(MethodVisitor next, Change change) {
            super(Opcodes.ASM9, next);
            this.change = change;
        }

        private void passed(Where where) {
            if (change.where() == where) {
                applied.add(change);
                super.visitMethodInsn(
                        Opcodes.INVOKESTATIC, Type.getInternalName(Suicide.class), "passed", "()V", false);
            }
        }

        @Override
        public void visitCode() {
            super.visitCode();
            passed(Where.ENTRY);
        }

        @Override
        public void visitInsn(int opcode) {
            if (opcode >= Opcodes.IRETURN && opcode <= Opcodes.RETURN) {
                passed(Where.EXIT);
            }
            super.visitInsn(opcode);
        }

        @Override
        public void visitMethodInsn(
                int opcode, String calledOwner, String called, String descriptor, boolean isInterface) {
            if (!change.isAt(calledOwner, called)) {
                super.visitMethodInsn(opcode, calledOwner, called, descriptor, isInterface);
            } else if (change.where() == Where.INSTEAD_OF_CALL) {
                applied.add(change);
                callInstead(descriptor);
            } else {
                passed(Where.BEFORE_CALL);
                super.visitMethodInsn(opcode, calledOwner, called, descriptor, isInterface);
                passed(Where.AFTER_CALL);
            }
        }

        /** It takes the object of the call and its arguments, and gives the same. */
        private void callInstead(String descriptor) {
            super.visitMethodInsn(
                    Opcodes.INVOKESTATIC, MUTATIONS, change.instead(), descriptorOf(change.instead()), false);
            Type result = Type.getReturnType(descriptor);
            if (result.getSort() == Type.OBJECT) {
                super.visitTypeInsn(Opcodes.CHECKCAST, result.getInternalName());
            }
        }
    }

    /** Read from the class file: to load the class would load what is being changed. */
    private static String descriptorOf(String mutation) {
        List<String> found = new ArrayList<>();
        try (InputStream in = ClassLoader.getSystemResourceAsStream(MUTATIONS + ".class")) {
            new ClassReader(in)
                    .accept(
                            new ClassVisitor(Opcodes.ASM9) {
                                @Override
                                public MethodVisitor visitMethod(
                                        int access, String name, String descriptor, String signature, String[] thrown) {
                                    if (name.equals(mutation)) {
                                        found.add(descriptor);
                                    }
                                    return null;
                                }
                            },
                            ClassReader.SKIP_CODE);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        if (found.size() != 1) {
            throw new IllegalStateException("expected one mutation " + mutation + ", found " + found);
        }
        return found.get(0);
    }

    @Override
    public String toString() {
        return owner + " with " + changes;
    }
}
